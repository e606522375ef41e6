cat(length(numeric(2^40)))
