# Rules: X7
# Attack: leaves background programs that keep its output open and ignore SIGHUP.
# Profile: compiler
# Expect: ok
# Without PID: ok
[ "$HOME" = /work ] || exit 2
echo started
for _ in 1 2 3; do
    (trap '' HUP INT TERM && setsid sleep 1000) &
    nohup sh -c 'while :; do :; done' &
done 2>/dev/null
echo held
