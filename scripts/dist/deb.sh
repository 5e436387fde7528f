#!/usr/bin/env bash
# The Debian package, by debhelper from packaging/debian: scripts/dist/deb.sh PROGRAM DOCUMENTS
set -euo pipefail
cd "$(dirname "$0")/../.."
source scripts/dist/environment.sh
program=$1 documents=$2
# The number of threads changes what xz writes.
export DPKG_DEB_THREADS_MAX=1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$tree/completions" "$tree/documents"
cp -R packaging/debian docs CHANGELOG.md packaging/bailiwick.toml packaging/prometheus packaging/grafana "$tree"
cp packaging/systemd/bailiwick.service "$tree/debian/bailiwick.service"
cp "$documents"/THIRD-PARTY-LICENSES "$tree/documents"
install -m 755 "$program" "$tree/bailiwick"
scripts/dist/completions.sh "$program" "$tree/completions"
cat >"$tree/debian/changelog" <<END
bailiwick ($DIST_VERSION-1) unstable; urgency=medium

  * What has changed is in /usr/share/doc/bailiwick/changelog.gz.

 -- The Bailiwick developers <bailiwick@example.org>  $(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")
END
(cd "$tree" && debian/rules binary)
cp "$work"/bailiwick_*.deb "$DIST_DIR"
