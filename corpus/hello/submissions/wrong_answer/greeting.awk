END { print NR }
