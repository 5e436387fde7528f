#!/usr/bin/env bash
# Makes sure that what a target needs is installed: scripts/need.sh rust postgresql chromium …
# Each argument is a Debian package (or `rust`, the compiler with its tools). A package counts as present when its
# program is found, however it came here; only missing ones are installed, and only by root with apt-get. Never asks.
set -euo pipefail

has() { command -v "$1" >/dev/null 2>&1 || [[ -x /usr/sbin/$1 ]]; }

# Whether the program for which a package is needed is there.
is_present() {
    case $1 in
    build-essential) has cc ;;
    ca-certificates) [[ -d /usr/share/ca-certificates/mozilla ]] ;;
    debhelper) has dh ;;
    debian-archive-keyring) [[ -f /usr/share/keyrings/debian-archive-keyring.gpg ]] ;;
    postgresql) has initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ;;
    prometheus-alertmanager) { has prometheus-alertmanager || has alertmanager; } && has amtool ;;
    chromium) has chromium || has chromium-browser ;;
    chromium-driver) has chromedriver ;;
    default-jre-headless) has java ;;
    golang-go) has go || [[ -x /usr/local/go/bin/go ]] ;;
    nginx-light) has nginx ;;
    nodejs) has node ;;
    python3-aiosmtpd)
        /usr/bin/python3 -c 'import aiosmtpd.smtp' 2>/dev/null || python3 -c 'import aiosmtpd.smtp' 2>/dev/null
        ;;
    poppler-utils) has pdftotext ;;
    procps) has pgrep ;;
    python3-venv) python3 -c 'import ensurepip' 2>/dev/null ;;
    tzdata) [[ -f /usr/share/zoneinfo/UTC ]] ;;
    victoria-metrics) has vmalert ;;
    *) has "$1" ;;
    esac
}

need_rust() {
    local missing=()
    for program in cargo rustc rustfmt cargo-clippy; do
        has "$program" || missing+=("$program")
    done
    ((${#missing[@]} == 0)) && return
    echo "Rust is needed (missing: ${missing[*]}): install it from https://rustup.rs with rustfmt and clippy," >&2
    echo "in the version that Cargo.toml names as rust-version or a newer one." >&2
    exit 1
}

install() {
    apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
}

missing=()
for package in "$@"; do
    if [[ $package == rust ]]; then
        need_rust
    elif ! is_present "$package"; then
        missing+=("$package")
    fi
done
((${#missing[@]} == 0)) && exit 0

if [[ $(id -u) != 0 ]] || ! has apt-get; then
    echo "These programs are missing. Install them and try again; on Debian, as root:" >&2
    echo "    apt-get install ${missing[*]}" >&2
    exit 1
fi

echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
exec </dev/null
# The package lists are fetched only when the ones that are here do not do: absent or out of date.
install "${missing[@]}" || { apt-get update && install "${missing[@]}"; }

for package in "${missing[@]}"; do
    is_present "$package" || { echo "$package is installed, but its program is not found" >&2; exit 1; }
done
