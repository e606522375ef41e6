#!/bin/sh
# Starts `./dev up`, has one submission judged, and stops it: .github/smoke.sh [PORT]
set -eu
cd "$(dirname "$0")/.."
port=${1:-8000}
url=http://127.0.0.1:$port
data=$(mktemp -d)
chmod 755 "$data"

./dev up --port "$port" --data "$data" &
up=$!
trap 'kill "$up" 2>/dev/null || true; wait "$up" || true; rm -rf "$data"' EXIT

tries=0
until curl -sf --max-time 5 "$url/readyz"; do
    kill -0 "$up" || { echo "smoke: ./dev up ended by itself" >&2; exit 1; }
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || { echo "smoke: $url/readyz is not ready after 10 minutes" >&2; exit 1; }
    sleep 1
done

printf 'a, b = map(int, input().split())\nprint(a + b)\n' >"$data/sum.py"
DEEMSTER_URL=$url DEEMSTER_TOKEN=$(cat "$data/admin.token") \
    .venv/bin/deemster submit "$data/sum.py" --problem prob_aplusb --wait

kill "$up"
wait "$up"
