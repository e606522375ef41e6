# Rules: X6 X7 J8
# Attack: makes the compiler write its result through links to where it may not write.
# Profile: compiler
# Expect: ok
# Without SECCOMP: ok
# Limits: memory_bytes=256MiB cpu_ms=60000 wall_ms=120000
echo started
status=0
echo 'int main(void) { return 0; }' >main.c
for target in /code/compile_links.sh /etc/passwd /usr/bin/gcc /code/new /etc/new /new; do
    before=$(cksum "$target" 2>&1)
    ln -sf "$target" a.out
    gcc -c main.c -o a.out 2>/dev/null
    gcc -E main.c -o a.out 2>/dev/null
    gcc main.c -o a.out 2>/dev/null
    gcc -MD -MF a.out -c main.c 2>/dev/null
    if [ "$before" != "$(cksum "$target" 2>&1)" ]; then
        echo "got through: $target"
        status=1
    fi
    rm -f a.out
done
[ $status = 0 ] && echo held
exit $status
