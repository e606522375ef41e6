source("/code/add.R")
cat(add(40, 2), "\n", sep = "")
