#!/usr/bin/env bash
# The archive for any Linux: scripts/dist/tarball.sh PROGRAM DOCUMENTS
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/dist/environment.sh
program=$1 documents=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
name=bailiwick-$DIST_VERSION-linux-$machine
root=$work/$name
mkdir -p "$root/completions"
install -m 755 "$program" "$root/bailiwick"
cp "$documents"/* CHANGELOG.md packaging/bailiwick.toml packaging/systemd/bailiwick.service \
    packaging/debian/bailiwick.1 "$root"
scripts/dist/completions.sh "$program" "$root/completions"
archive "$DIST_DIR/$name.tar.gz" "$work" "$name"
