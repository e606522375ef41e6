# Rules: X6 X7 J8
# Attack: compiles one line to a gigabyte.
# Profile: compiler
# Expect: ok | memory_limit | signalled SIGXFSZ
# Limits: memory_bytes=128MiB scratch_bytes=16MiB file_bytes=16MiB cpu_ms=10000
echo started
echo 'char huge[1 << 30] = {1};' >bomb.c
if gcc -c bomb.c -o bomb.o; then
    echo "got through: $(wc -c <bomb.o) bytes"
    exit 1
fi
echo held
