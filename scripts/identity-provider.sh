#!/usr/bin/env bash
# Installs what tests need of npm, in the versions of the lock file: the OpenID Connect provider that they sign in at
# (oidc-provider), the library that verifies webhooks (standardwebhooks) the object storage (s3rver, aws4) and what looks for barriers on pages (axe-core),
# below the target directory, if it is not there yet. Needs node 20 or newer and npm.
set -euo pipefail
cd "$(dirname "$0")/.."

from=crates/testkit/provider
to=${CARGO_TARGET_DIR:-target}/identity-provider

# What npm writes last says which versions are there.
if [[ -e $to/node_modules/.package-lock.json ]] && cmp -s "$from/package-lock.json" "$to/package-lock.json"; then
    exit 0
fi

fail() {
    echo "The identity provider for tests cannot be installed: $1" >&2
    exit 1
}

command -v npm >/dev/null || fail 'npm is missing (scripts/need.sh nodejs npm).'
major=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
((major >= 20)) || fail "node $(node --version) is older than 20; install a newer one, for instance from https://nodejs.org."

rm -rf "$to"
mkdir -p "$to"
cp "$from/package.json" "$from/package-lock.json" "$to/"
echo "installing the identity provider for tests into $to"
if ! npm ci --prefix "$to" --ignore-scripts --no-audit --no-fund --loglevel=error; then
    # A half of it must not pass for the whole.
    rm -rf "$to"
    fail 'npm could not fetch it (see above). It needs the npm registry once; behind a proxy set HTTPS_PROXY.'
fi
