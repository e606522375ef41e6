all <- list()
repeat all[[length(all) + 1]] <- numeric(16384) + length(all)
