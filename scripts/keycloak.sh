#!/usr/bin/env bash
# Installs Keycloak for `make test-issuers` below the target directory, if it is not there yet, and prints its directory. It is
# the distribution that Maven Central has, in the version and with the SHA-256 that are written here. Needs Java 17 or newer.
#
# Variable: MAVEN_REPOSITORY (https://repo1.maven.org/maven2), the address of a repository that has it.
set -euo pipefail
cd "$(dirname "$0")/.."

version=26.7.3
sha256=27a6535553c3cdcd083872ba40629efafb3475e3b758e0c6f691395561dd0f1f

target=${CARGO_TARGET_DIR:-target}/keycloak
home=$target/keycloak-$version
# What is written last says that it is whole, and with which options it was built.
options=(--db=dev-mem --health-enabled=false --metrics-enabled=false)
mark="$version $sha256 ${options[*]}"

if [[ -e $target/installed && $(<"$target/installed") == "$mark" ]]; then
    realpath "$home"
    exit 0
fi

fail() {
    echo "Keycloak cannot be installed: $1" >&2
    exit 1
}

command -v java >/dev/null || fail 'Java is missing (scripts/need.sh default-jre-headless).'
major=$(java -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java.specification.version = \([0-9]*\).*/\1/p')
((${major:-0} >= 17)) || fail "Java ${major:-of an unknown version} is older than 17."

rm -rf "$target"
mkdir -p "$target"
echo "installing Keycloak $version into $target" >&2
archive=$target/keycloak.zip
address=${MAVEN_REPOSITORY:-https://repo1.maven.org/maven2}/org/keycloak/keycloak-quarkus-dist/$version/keycloak-quarkus-dist-$version.zip
curl -fsSL --retry 3 --max-time 900 -o "$archive" "$address" ||
    fail 'it could not be fetched (see above). It needs a Maven repository once; behind a proxy set HTTPS_PROXY.'
sha256sum --quiet --check <<<"$sha256  $archive" >&2 || fail 'the archive is another one than expected.'
unzip -q "$archive" -d "$target"
rm "$archive"
"$home/bin/kc.sh" build "${options[@]}" >"$target/build.log" 2>&1 || { cat "$target/build.log" >&2; fail 'its build has failed.'; }
echo "$mark" >"$target/installed"
realpath "$home"
