depth() {
    if [ "$1" = 0 ]; then echo "$2"; else depth $(($1 - 1)) $(($2 + 1)); fi
}
depth 1000 0
