#!/usr/bin/env bash
# Runs the README's five-minute tour line by line against a service started for it, and compares what it prints with
# what the README says it prints.
#   scripts/tour.sh embedded                    SQLite, everything embedded: the newcomer's way
#   scripts/tour.sh postgres URL ALERTMANAGER   PostgreSQL and a real Alertmanager (kind plain)
#   scripts/tour.sh write                       embedded; puts the output into the README
#   scripts/tour.sh signed-in COMMAND…          embedded; signs in as the README does and runs a command with the
#                                               address (TOUR_BASE) and the provider's token (TOUR_ACCESS)
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-embedded}
program=${TOUR_PROGRAM:-${CARGO_TARGET_DIR:-target}/debug/bailiwick}
work=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export BAILIWICK_HTTP__LISTEN=127.0.0.1:$port BAILIWICK_DATA_DIR=$work/data BAILIWICK_LOG__LEVEL=warn
if [[ $mode == postgres ]]; then
    export BAILIWICK_DATABASE__URL=$2 BAILIWICK_ALERTING__MODE=remote BAILIWICK_ALERTING__REMOTE__URL=$3
    export BAILIWICK_ALERTING__REMOTE__KIND=plain BAILIWICK_ALERTING__REMOTE__PREFIX=/
fi
"$program" serve >"$work/log" 2>&1 &
pid=$!
until curl -sf -o "$work/health" "http://127.0.0.1:$port/health"; do
    kill -0 "$pid" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
    sleep 0.05
done
until grep -q 'password ' "$work/log"; do sleep 0.05; done

if [[ $mode == signed-in ]]; then
    shift
    # The first two blocks: what a reader sets, and the sign-in.
    {
        echo '{'
        python3 scripts/tour.py extract README.md | sed "/^echo '=== 2'/,\$d"
        echo '} >/dev/null'
        echo 'export TOUR_ACCESS=$ACCESS; cd "$REPOSITORY"; "$@"'
    } >"$work/tour.sh"
    export REPOSITORY=$PWD TOUR_BASE=http://127.0.0.1:$port
    TOUR_PASSWORD=$(sed -n 's/^ *password *\([^ ]*\) .*/\1/p' "$work/log") bash -euo pipefail "$work/tour.sh" "$@"
    exit
fi

# The README's blocks, each followed by a line that names it, so that its output can be told from the others'.
python3 scripts/tour.py extract README.md >"$work/tour.sh"
TOUR_BASE=http://127.0.0.1:$port \
    TOUR_PASSWORD=$(sed -n 's/^ *password *\([^ ]*\) .*/\1/p' "$work/log") \
    bash -euo pipefail "$work/tour.sh" >"$work/output"
if [[ $mode == write ]]; then
    python3 scripts/tour.py write README.md "$work/output"
else
    python3 scripts/tour.py compare README.md "$work/output"
fi
echo "tour ($mode): as the README says"
