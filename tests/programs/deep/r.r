# The language's own limit is options(expressions), at most 500,000, of which a call takes several.
options(expressions = 500000)
depth <- function(n) if (n == 0) 0 else 1 + depth(n - 1)
cat(depth(10000), "\n", sep = "")
