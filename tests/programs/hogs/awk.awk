BEGIN {
    while (1) all[n++] = sprintf("%01000d", n)
}
