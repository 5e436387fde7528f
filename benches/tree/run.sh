#!/usr/bin/env bash
# Measures three representations of the organization tree (docs/tree.md).
#
#   benches/tree/run.sh URL [organizations] [systems]
#
# URL: an empty PostgreSQL database (postgres://…) or a new SQLite file (sqlite:ABSOLUTE-PATH). Needs the release build of
# bailiwick, python3, and psql for PostgreSQL. A million systems take a few minutes to load and 4 GB of disk.
# To measure SQLite with the very version that is built into bailiwick, point LD_LIBRARY_PATH at a build of it.
set -euo pipefail
cd "$(dirname "$0")"

url=${1:?usage: run.sh URL [organizations] [systems]}
organizations=${2:-20000}
systems=${3:-1000000}
bailiwick=${BAILIWICK:-../../target/release/bailiwick}

data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT
export BAILIWICK_DATA_DIR=$data BAILIWICK_DATABASE__URL=$url
"$bailiwick" migrate
"$bailiwick" demo --still --organizations "$organizations" --systems "$systems" --seed 1
./measure.py "$url" --prepare
./measure.py "$url"
./measure.py "$url" --costs
./measure.py "$url" --explain --only 'C '
