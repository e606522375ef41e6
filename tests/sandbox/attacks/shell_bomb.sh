# Rules: X7 X5
# Attack: forks without end in a shell.
# Profile: compiler
# Expect: process_limit
# Without CGROUP: time_limit | wall_limit | ok | signalled
# Limits: cpu_ms=300 wall_ms=3000
[ "$HOME" = /work ] || exit 2
echo started
# A shell that can't fork exits.
trap 'echo held; exit 0' EXIT
bomb() {
    # shellcheck disable=SC2264 # that is the bomb
    bomb | bomb &
}
bomb
while :; do :; done
