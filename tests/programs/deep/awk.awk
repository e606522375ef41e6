function depth(n) {
    return n ? 1 + depth(n - 1) : 0
}

BEGIN { print depth(100000) }
