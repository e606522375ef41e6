n <- scan(file("stdin"), quiet = TRUE)
memory <- list()
for (i in seq_len(n)) memory[[i]] <- rep(i + 0.5, 131072)
cat(length(memory), "\n")
