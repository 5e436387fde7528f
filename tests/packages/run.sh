#!/usr/bin/env bash
# Makes every artifact from a program that is built already, and installs it where nothing else is: the image in an empty root,
# the Debian package in a fresh Debian. Everything listens on this machine alone, or for a moment, in directories of its own.
# Needs root: for chroot, and for packages.
#
# DIST_PROGRAM     the program (that of `cargo build`)
# UPGRADE_PROGRAM  a program of the version before; without it the package of the present one with a lower version is upgraded
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."

target=${CARGO_TARGET_DIR:-target}
DIST_PROGRAM=$(realpath "${DIST_PROGRAM:-$target/debug/bailiwick}")
export DIST_PROGRAM
[[ $(id -u) == 0 ]] || { echo 'this needs root' >&2; exit 1; }
work=$(mktemp -d)
# Users without rights look for their files below it.
chmod 755 "$work"
pids=()
trap 'finish' EXIT
source tests/packages/parts.sh
source tests/packages/image.sh
source tests/packages/engine.sh
source tests/packages/debian.sh

# Packed quickly: programs of tests are large.
export DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)

# The same artifacts from another directory, at another time.
make_artifacts() { DIST_DIR=$work/$1 scripts/dist/run.sh >"$work/$1.log" 2>&1 || fail "$(tail -n 30 "$work/$1.log")"; }
test_packaging() {
    make_artifacts first &
    local first=$!
    pids+=("$first")
    make_artifacts second
    wait "$first"
    same 'sums of two runs' "$work/first/SHA256SUMS" "$work/second/SHA256SUMS"
    (cd "$work/first" && sha256sum --check --quiet SHA256SUMS)
    rm -rf "$work/second"
    say 'two runs make equal artifacts:'
    cat "$work/first/SHA256SUMS"
}

test_licences() {
    local licences=$work/first/THIRD-PARTY-LICENSES
    grep -q '^aws-lc ' "$licences" && grep -q '^tokio ' "$licences" && grep -q '^sqlite ' "$licences" ||
        fail 'licences are missing'
    mkdir "$work/deb" "$work/tarball"
    dpkg-deb --extract "$work"/first/bailiwick_*.deb "$work/deb"
    tar -xf "$work"/first/bailiwick-*-linux-*.tar.gz -C "$work/tarball" --strip-components 1
    cmp "$licences" "$work/deb/usr/share/doc/bailiwick/THIRD-PARTY-LICENSES"
    cmp "$licences" "$work/tarball/THIRD-PARTY-LICENSES"
    cmp "$licences" "$work/bundle/rootfs/usr/share/doc/bailiwick/THIRD-PARTY-LICENSES"
    "$work/tarball/bailiwick" --config "$work/tarball/bailiwick.toml" config check >"$work/last"
    say 'every artifact has the licences of others'
}

# Python's packages in the versions of requirements.txt, below the target directory, if they are not there yet.
test_sbom() {
    local tools=$target/packages
    if ! cmp -s tests/packages/requirements.txt "$tools/installed"; then
        rm -rf "$tools"
        python3 -m venv "$tools" || { scripts/need.sh python3-venv && python3 -m venv "$tools"; }
        "$tools/bin/pip" install --quiet --disable-pip-version-check --no-input -r tests/packages/requirements.txt
        cp tests/packages/requirements.txt "$tools/installed"
    fi
    "$tools/bin/python" tests/packages/sbom.py "$work/first/bailiwick-$version.cdx.json"
}

# The package of the version before.
package_before() {
    DIST_DIR=$work/before DIST_PROGRAM=$(realpath "${UPGRADE_PROGRAM:-$DIST_PROGRAM}") DIST_VERSION=0.0.1 \
        scripts/dist/run.sh deb >"$work/before.log" 2>&1 || fail "$(tail -n 30 "$work/before.log")"
}

test_unit() {
    command -v systemd-analyze >"$work/last" || return 0
    sed "s|/usr/bin/bailiwick|$DIST_PROGRAM|" packaging/systemd/bailiwick.service >"$work/bailiwick.service"
    systemd-analyze verify --man=no "$work/bailiwick.service" || fail 'systemd does not like the unit'
}

test_packaging
test_sbom
image=$work/first/bailiwick-$version-oci-$(dpkg --print-architecture).tar
test_image "$image"
test_engine "$image"
test_licences
test_unit
package_before
test_debian "$work"/before/bailiwick_*.deb "$work"/first/bailiwick_*.deb
