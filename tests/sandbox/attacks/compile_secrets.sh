# Rules: X6 X7 X2
# Attack: reads the host's and the judge's files through the compiler and its messages.
# Profile: compiler
# Expect: ok
# Without SECCOMP: ok
# Without ALL: ok
# Limits: memory_bytes=256MiB cpu_ms=60000 wall_ms=120000
echo started
status=0
for path in /etc/shadow /root/.bashrc /root/.profile /proc/1/environ /proc/1/cmdline \
    /proc/1/mem /proc/1/exe /proc/1/maps /proc/self/root/etc/shadow /proc/kcore \
    /sys/kernel/notes /var/log/dpkg.log /dev/mem ../../../../../../etc/shadow; do
    echo "#include \"$path\"" >leak.c
    if gcc -E leak.c >text 2>messages ||
        ! grep -qE 'No such file|ermission denied' messages; then
        echo "got through: #include $path"
        status=1
    fi
    echo "__asm__(\".incbin \\\"$path\\\"\");" >leak.c
    if gcc -c leak.c -o leak.o 2>/dev/null; then
        echo "got through: .incbin $path"
        status=1
    fi
done
[ $status = 0 ] && echo held
exit $status
