# Sourced by the other scripts here: what an artifact is made from, and nothing of the machine that makes it.
#
# DIST_DIR      where the artifacts go (target/dist)
# DIST_VERSION  their version (that of Cargo.toml)
# SOURCE_DATE_EPOCH, BAILIWICK_COMMIT  time and name of the commit (those of the repository)
umask 022
export LC_ALL=C TZ=UTC
unset GZIP XZ_OPT XZ_DEFAULTS TAR_OPTIONS

target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
: "${DIST_DIR:=$target_dir/dist}"
: "${DIST_VERSION:=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)}"
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct)}"
: "${BAILIWICK_COMMIT:=$(git rev-parse HEAD)}"
export DIST_DIR DIST_VERSION SOURCE_DATE_EPOCH BAILIWICK_COMMIT

machine=$(uname -m)
rust_target=$machine-unknown-linux-gnu

# An archive that has nothing of the machine in it: archive OUTPUT DIRECTORY NAME.
archive() {
    tar --create --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
        --mode=u=rwX,go=rX --directory="$2" "$3" | gzip --no-name >"$1"
}
