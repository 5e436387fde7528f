#!/usr/bin/env bash
# Runs the README's five-minute tour line by line against a service started for it, twice on one database, and compares
# what it prints with what the README says it prints.
#   scripts/tour.sh embedded                    SQLite, everything embedded: the newcomer's way
#   scripts/tour.sh postgres URL ALERTMANAGER   PostgreSQL and a real Alertmanager (kind plain)
#   scripts/tour.sh write                       embedded; puts the output into the README
#   scripts/tour.sh signed-in COMMAND…          embedded; signs in as the README does and runs a command with the
#                                               address (TOUR_BASE) and the provider's token (TOUR_ACCESS)
set -euo pipefail
cd "$(dirname "$0")/.."
repository=$PWD

mode=${1:-embedded}
program=$(realpath "${TOUR_PROGRAM:-${CARGO_TARGET_DIR:-target}/debug/bailiwick}")
work=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT

# As after `make run` in the repository: the program below target, the data in ./data, but not the data of an earlier `make run`.
mkdir -p "$work/here/target/debug"
for file in "$repository"/*; do
    case ${file##*/} in
        data | target) ;;
        *) ln -s "$file" "$work/here/" ;;
    esac
done
ln -s "$program" "$work/here/target/debug/bailiwick"
cd "$work/here"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export BAILIWICK_HTTP__LISTEN=127.0.0.1:$port BAILIWICK_LOG__LEVEL=warn
if [[ $mode == postgres ]]; then
    export BAILIWICK_DATABASE__URL=$2 BAILIWICK_ALERTING__MODE=remote BAILIWICK_ALERTING__REMOTE__URL=$3
    export BAILIWICK_ALERTING__REMOTE__KIND=plain BAILIWICK_ALERTING__REMOTE__PREFIX=/
fi
target/debug/bailiwick serve >"$work/log" 2>&1 &
pid=$!
# The greeting comes when it answers.
for _ in {1..600}; do
    kill -0 "$pid" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
    ! grep -qs 'password ' "$work/log" || break
    sleep 0.1
done
export TOUR_BASE=http://127.0.0.1:$port
TOUR_PASSWORD=$(sed -n 's/^ *password *\([^ ]*\) .*/\1/p' "$work/log")
[[ -n $TOUR_PASSWORD ]] || { echo "no greeting within a minute" >&2; cat "$work/log" >&2; exit 1; }
export TOUR_PASSWORD

if [[ $mode == signed-in ]]; then
    shift
    {
        echo '{'
        python3 scripts/blocks.py sign-in README.md
        echo '} >/dev/null'
        echo 'export TOUR_ACCESS=$ACCESS; cd "$TOUR_REPOSITORY"; "$@"'
    } >"$work/tour.sh"
    TOUR_REPOSITORY=$repository bash "$work/tour.sh" "$@"
    exit
fi

# The README's blocks, each followed by a line that names it, so that its output can be told from the others'. What the
# terminal shows is both outputs, with the address that a reader has.
python3 scripts/blocks.py extract README.md >"$work/tour.sh"
for time in 1 2; do
    bash "$work/tour.sh" >"$work/raw" 2>&1 || { cat "$work/raw" "$work/log" >&2; exit 1; }
    sed "s|127\.0\.0\.1:$port|127.0.0.1:8080|g" "$work/raw" >"$work/output"
    if [[ $mode == write && $time == 1 ]]; then
        python3 scripts/blocks.py write "$repository/README.md" "$work/output"
    else
        python3 scripts/blocks.py compare "$repository/README.md" "$work/output"
    fi
done
echo "tour ($mode): as the README says, and again on the same database"
