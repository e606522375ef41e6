# Rules: X7 X1
# Attack: starts the system's setuid programs, and makes its own setuid program.
# Profile: compiler
# Expect: ok
# Without SECCOMP: ok
# Without ALL: ok
echo started
status=0
got_through() {
    echo "got through: $*"
    status=1
}
user=$(id -u)
[ "$user" = 1000 ] || got_through "the user is $user"

cp "$(command -v id)" mine && chmod 6755 mine
[ "$(./mine -u)" = 1000 ] || got_through "a setuid program of its own"

for program in su passwd chsh; do
    path=$(command -v "$program") || continue
    case $program in
    su) set -- root -c 'id -u' ;;
    passwd) set -- -d root ;;
    chsh) set -- -s /bin/sh root ;;
    esac
    if output=$("$path" "$@" </dev/null 2>&1); then
        got_through "$program: $output"
    fi
done
[ $status = 0 ] && echo held
exit $status
