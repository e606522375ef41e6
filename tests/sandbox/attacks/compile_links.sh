# Rules: X6 X7 J8
# Attack: makes the compiler write its result through links to where it may not write.
# Profile: compiler
# Expect: ok
# Without SECCOMP: ok
# Limits: memory_bytes=256MiB cpu_ms=20000
echo started
status=0
echo 'int main(void) { return 0; }' >main.c
for target in /code/attack /code/new /etc/passwd /usr/bin/gcc /proc/self/exe /dev/new /new; do
    ln -sf "$target" a.out
    if gcc -c main.c -o a.out 2>/dev/null && [ -e "$target" ]; then
        echo "got through: $target"
        status=1
    fi
    rm -f a.out
done
[ $status = 0 ] && echo held
exit $status
