#!/usr/bin/env bash
# Signs people in at a real Keycloak, with the console and with a client that exchanges tokens, as docs/identity.md and
# docs/console.md say: code flow with PKCE, links by verified addresses, claims, refresh, revocation, fresh sign-ins, sign-out here
# and there, new keys, and the time when Keycloak is away. The realm is realm.json; checks.py does what browsers, clients and
# Keycloak's administrator do. Keycloak has a certificate of an authority that is made for this run. Everything is on loopback, in
# directories of its own, and bounded in time.
#
# Variables: ISSUERS_PROGRAM (a binary of the service that is built already), ISSUERS_ENGINE (sqlite, or postgres for a
# PostgreSQL of its own), ISSUERS_KEYS_CACHE (seconds for which the service keeps Keycloak's keys, 30), ISSUERS_FRESH_SIGN_IN
# (seconds for which a sign-in is fresh, 15), ISSUERS_TIMES (any value: print how long each check takes), MAVEN_REPOSITORY (where
# Keycloak is fetched from, once: scripts/keycloak.sh).
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."

work=$(mktemp -d)
pids=()
trap 'finish' EXIT
source benches/load/parts.sh

keycloak=$(scripts/keycloak.sh)
program=${ISSUERS_PROGRAM:-}
if [[ -z $program ]]; then
    "${CARGO:-cargo}" build --release --bin bailiwick
    program=${CARGO_TARGET_DIR:-target}/release/bailiwick
fi

# An authority, and its certificate for Keycloak.
make_certificates() {
    (
        cd "$work"
        openssl req -x509 -newkey rsa:2048 -nodes -keyout authority.key -out authority.pem -days 2 -subj '/CN=Authority for tests'
        openssl req -newkey rsa:2048 -nodes -keyout keycloak.key -out keycloak.csr -subj '/CN=localhost'
        openssl x509 -req -in keycloak.csr -CA authority.pem -CAkey authority.key -CAcreateserial -out keycloak.pem -days 2 \
            -extfile <(echo 'subjectAltName = DNS:localhost')
    ) 2>"$work/openssl.log" || { cat "$work/openssl.log" >&2; exit 1; }
}

start_service() {
    export BAILIWICK_HTTP__LISTEN BAILIWICK_HTTP__PUBLIC_URL=$ISSUERS_SERVICE BAILIWICK_DATA_DIR=$work/service BAILIWICK_LOG__LEVEL=info
    BAILIWICK_HTTP__LISTEN=${ISSUERS_SERVICE#http://}
    export BAILIWICK_OWNER__EMAIL=admin@example.org BAILIWICK_IDENTITY__MODE=oidc
    export BAILIWICK_IDENTITY__OIDC__ISSUER=$ISSUERS_KEYCLOAK/realms/fleet
    export BAILIWICK_IDENTITY__OIDC__CLIENT_IDS=fleet-web,fleet-light,fleet-no-audience
    export BAILIWICK_IDENTITY__OIDC__AUDIENCES=https://fleet.example.org/api
    export BAILIWICK_IDENTITY__OIDC__KEYS_CACHE=${ISSUERS_KEYS_CACHE}s
    export BAILIWICK_CONSOLE__CLIENT_ID=fleet-console BAILIWICK_CONSOLE__CLIENT_SECRET='a secret: with 100% of signs + more'
    export BAILIWICK_TOKENS__FRESH_SIGN_IN=${ISSUERS_FRESH_SIGN_IN}s
    # All requests come from one address.
    export BAILIWICK_LIMITS__TOKEN_REQUESTS_PER_SECOND=1000000 BAILIWICK_LIMITS__TOKEN_REQUEST_BURST=1000000
    # The service trusts the authority by this alone.
    export SSL_CERT_FILE=$ISSUERS_AUTHORITY
    if [[ ${ISSUERS_ENGINE:-sqlite} == postgres ]]; then
        scripts/need.sh postgresql
        start_postgres
        export BAILIWICK_DATABASE__URL=$postgres_url
    fi
    "$program" serve >"$work/service.log" 2>&1 &
    local service=$!
    pids+=("$service")
    until curl -sf -o /dev/null "$ISSUERS_SERVICE/health"; do
        kill -0 "$service" 2>/dev/null || { cat "$work/service.log" >&2; exit 1; }
        sleep 0.1
    done
}

# Starts Keycloak in a copy of its directory, with an empty database in memory and the realm.
start_keycloak() {
    cp -a "$keycloak" "$work/keycloak"
    mkdir -p "$work/keycloak/data/import"
    cp tests/issuers/realm.json "$work/keycloak/data/import/"
    # realm.json names the address of the service as ${SERVICE}.
    SERVICE=$ISSUERS_SERVICE KC_BOOTSTRAP_ADMIN_USERNAME=admin KC_BOOTSTRAP_ADMIN_PASSWORD=$ISSUERS_PASSWORD JAVA_OPTS_APPEND=-Xmx1g \
        "$work/keycloak/bin/kc.sh" start --optimized --cache=local --import-realm --http-host=127.0.0.1 \
        --https-port="${ISSUERS_KEYCLOAK##*:}" --hostname="$ISSUERS_KEYCLOAK" \
        --https-certificate-file="$work/keycloak.pem" --https-certificate-key-file="$work/keycloak.key" >"$work/keycloak.log" 2>&1 &
    local script=$! deadline=$((SECONDS + 300))
    pids+=("$script")
    until curl -sf --cacert "$work/authority.pem" -o /dev/null "$ISSUERS_KEYCLOAK/realms/fleet/.well-known/openid-configuration"; do
        kill -0 "$script" 2>/dev/null && ((SECONDS < deadline)) || { cat "$work/keycloak.log" >&2; exit 1; }
        sleep 0.5
    done
    # The script waits for the program, and hands signals on to it.
    ISSUERS_KEYCLOAK_PROCESS=$(pgrep -P "$script" -x java)
}

checks() {
    timeout 900 python3 -B tests/issuers/checks.py "$@" || { tail -n 20 "$work/service.log" >&2; exit 1; }
}

export ISSUERS_PROGRAM=$program ISSUERS_KEYS_CACHE=${ISSUERS_KEYS_CACHE:-30} ISSUERS_FRESH_SIGN_IN=${ISSUERS_FRESH_SIGN_IN:-15}
export ISSUERS_AUTHORITY=$work/authority.pem
export ISSUERS_KEYCLOAK ISSUERS_SERVICE ISSUERS_PASSWORD ISSUERS_KEYCLOAK_PROCESS=
ISSUERS_KEYCLOAK=https://localhost:$(port)
ISSUERS_SERVICE=http://127.0.0.1:$(port)
ISSUERS_PASSWORD=$(openssl rand -hex 16)
make_certificates
start_service
checks before
start_keycloak
checks
GUIDES_PROGRAM=$program scripts/guides.sh keycloak
echo 'everything is as the documents say'
