#!/usr/bin/env bash
# Makes the artifacts of a release, as docs/install.md describes them, in target/dist: scripts/dist/run.sh [tarball] [deb] [image].
# Without an argument all of them. Needs what `make dist` installs.
#
# environment.sh names the variables. DIST_PROGRAM is a program that is built already; without it one is built.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."
source scripts/dist/environment.sh

program=${DIST_PROGRAM:-}
[[ -n $program ]] || program=$(scripts/dist/build.sh)
mkdir -p "$DIST_DIR"
rm -f "$DIST_DIR"/{bailiwick*,THIRD-PARTY-LICENSES,SHA256SUMS}

documents=$(mktemp -d)
trap 'rm -rf "$documents"' EXIT
cp LICENSE-APACHE LICENSE-MIT "$documents"
python3 scripts/dist/licences.py "$rust_target" "$program" >"$documents/THIRD-PARTY-LICENSES"
cp "$documents/THIRD-PARTY-LICENSES" "$DIST_DIR"
python3 scripts/dist/sbom.py "$rust_target" "$program" >"$DIST_DIR/bailiwick-$DIST_VERSION.cdx.json"
(($#)) || set -- tarball deb image
for artifact in "$@"; do
    case $artifact in
    tarball | deb) "scripts/dist/$artifact.sh" "$program" "$documents" ;;
    image)
        python3 scripts/dist/image.py "$program" "$documents" \
            "$DIST_DIR/bailiwick-$DIST_VERSION-oci-$(dpkg --print-architecture).tar"
        ;;
    *) echo "there is no artifact $artifact" >&2; exit 1 ;;
    esac
done >&2
cd "$DIST_DIR"
sha256sum bailiwick* THIRD-PARTY-LICENSES | sort --key=2 >SHA256SUMS
cat SHA256SUMS
