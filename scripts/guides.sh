#!/usr/bin/env bash
# Runs the commands of guides (docs/guides/*.md) line by line, one guide after the other against one installation, and
# compares what they print where the guide shows it.
#   scripts/guides.sh NAME…       first-fleet, upgrade …
#
# Nothing is installed: the directories of the package (/etc/bailiwick, /var/lib/bailiwick, /srv/backups) stand for ones
# below a temporary directory, the address 127.0.0.1:8080 for one with a spare port, and the commands `bailiwick`, `sudo`,
# `systemctl`, `journalctl`, `install` and `apt-get` for the ones below, which do the same with a process instead of a unit
# and without other users. `make test-packages` installs real packages.
#
# Variables: GUIDES_PROGRAM (the service; else the debug build), GUIDES_DATABASE (the address of an empty PostgreSQL
# database), GUIDES_ROUTER (a router with tenants), TOUR_NAME for what a guide lets its reader type as NAME.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
repository=$PWD
program=$(realpath "${GUIDES_PROGRAM:-${CARGO_TARGET_DIR:-target}/debug/bailiwick}")
work=$(mktemp -d)
pids=()
trap 'end' EXIT

end() {
    local pid
    for pid in "${pids[@]}" $(cat "$root/run/pid" 2>/dev/null); do kill -- "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}

port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# A mail server that prints what it receives.
start_mail() {
    local python=/usr/bin/python3
    "$python" -c 'import aiosmtpd' 2>/dev/null || python=python3
    TOUR_SMTP_PORT=$(port)
    export TOUR_SMTP_HOST=127.0.0.1 TOUR_SMTP_PORT TOUR_SMTP_TLS=none
    PYTHONUNBUFFERED=1 "$python" -m aiosmtpd -n -l "127.0.0.1:$TOUR_SMTP_PORT" >"$work/mail" 2>&1 &
    pids+=($!)
}

# A machine with the package: its directories and the commands of the system.
make_machine() {
    local commands=$root/bin
    mkdir -p "$commands" "$root/etc/bailiwick" "$root/var/lib/bailiwick" "$root/srv/backups" "$root/run"
    here <"$repository/packaging/bailiwick.toml" >"$root/etc/bailiwick/bailiwick.toml"
    ln -s "$program" "$commands/bailiwick"
    printf '%s\n' '#!/bin/sh' '[ "$1" != -u ] || shift 2' 'exec "$@"' >"$commands/sudo"
    # Before each line the journal shows time, machine and unit, unless it is asked for the text alone.
    printf '%s\n' '#!/bin/sh' "case \"\$*\" in *'-o cat'*) start= ;; *) start='Mar 04 09:00:00 noc bailiwick[1]: ' ;; esac" \
        "sed \"s/^/\$start/\" '$root/run/log'" >"$commands/journalctl"
    printf '%s\n' '#!/usr/bin/env bash' 'given=()' \
        'while (($#)); do case $1 in -o | -g) shift 2 ;; *) given+=("$1"); shift ;; esac; done' \
        'exec /usr/bin/install "${given[@]}"' >"$commands/install"
    # A package restarts a running service.
    printf '%s\n' '#!/usr/bin/env bash' '[[ $1 == install && -f ${*: -1} ]] || exit 1' \
        '! systemctl is-active bailiwick >/dev/null || systemctl restart bailiwick' >"$commands/apt-get"
    cat >"$commands/systemctl" <<UNIT
#!/usr/bin/env bash
set -euo pipefail
cd '$root/var/lib/bailiwick'
# A process that has ended may stay until somebody asks for its status.
is_active() {
    local pid
    pid=\$(cat '$root/run/pid' 2>/dev/null || echo none)
    kill -0 "\$pid" 2>/dev/null && ! grep -q '^State:.Z' "/proc/\$pid/status" 2>/dev/null
}
start() {
    ! is_active || return 0
    setsid bailiwick --config '$root/etc/bailiwick/bailiwick.toml' serve >>'$root/run/log' 2>&1 </dev/null &
    echo \$! >'$root/run/pid'
}
stop() {
    is_active || return 0
    kill "\$(cat '$root/run/pid')"
    local deadline=\$((SECONDS + 120))
    while is_active; do ((SECONDS < deadline)) || { echo 'it does not stop' >&2; exit 1; }; sleep 0.1; done
}
case \$1 in
start) start ;;
stop) stop ;;
restart) stop; start ;;
reload) kill -HUP "\$(cat '$root/run/pid')" ;;
enable) [[ \$2 == --now ]]; start ;;
is-active) is_active && echo active || { echo inactive; exit 3; } ;;
*) echo "no such command here: \$1" >&2; exit 1 ;;
esac
UNIT
    chmod +x "$commands"/{sudo,systemctl,journalctl,install,apt-get}
}

# The page's words for those of this machine, and back.
here() { sed -E "s#127\.0\.0\.1:8080#127.0.0.1:$address#g; s#/(etc|var/lib)/bailiwick|/srv/backups#$root&#g"; }
there() { sed "s#127\.0\.0\.1:$address#127.0.0.1:8080#g; s#$root##g"; }

# The words of people at the keyboard: what a guide's first step would have left behind.
begin_installed() {
    # Every guide but the first begins with a service that runs.
    ! systemctl is-active bailiwick >/dev/null || return 0
    sed -i 's|^# email = .*|email = "admin@example.org"|' "$root/etc/bailiwick/bailiwick.toml"
    systemctl start bailiwick
    local deadline=$((SECONDS + 120))
    until curl -sf -o /dev/null "http://127.0.0.1:$address/health"; do
        ((SECONDS < deadline)) || { cat "$root/run/log" >&2; exit 1; }
        sleep 0.1
    done
}

# An API key, as the console's account page makes one: TOUR_API_KEY.
make_api_key() {
    local password access session
    password=$(jq -rR 'fromjson? | .password // empty' "$root/run/log")
    access=$(cd "$home" && TOUR_BASE=http://127.0.0.1:$address TOUR_PASSWORD=$password TOUR_EMAIL=admin@example.org bash <<<"
        $(python3 "$repository/scripts/blocks.py" sign-in "$repository/README.md" | sed '/^TOKEN=.*bailiwick token/d; /^api .*\/me"/d')
        echo \"token \$TOKEN\"" 2>&1 | sed -n 's/^token //p')
    session=(-H "Authorization: Bearer $access" -H 'Content-Type: application/json')
    TOUR_API_KEY=$(curl -sS --fail-with-body "${session[@]}" "http://127.0.0.1:$address/api/me/api-keys" \
        -d "{\"name\":\"tools\",\"mode\":\"write\",\"password\":\"$password\"}" | jq -er .data.token)
    export TOUR_API_KEY
}

# A Keycloak of its own, without certificates: TOUR_KEYCLOAK, TOUR_KEYCLOAK_PASSWORD. Its tool joins the commands.
start_keycloak() {
    local keycloak=$root/keycloak port
    port=$(port)
    cp -a "$(scripts/keycloak.sh)" "$keycloak"
    export TOUR_KEYCLOAK=http://127.0.0.1:$port TOUR_KEYCLOAK_PASSWORD
    TOUR_KEYCLOAK_PASSWORD=$(openssl rand -hex 16)
    KC_BOOTSTRAP_ADMIN_USERNAME=admin KC_BOOTSTRAP_ADMIN_PASSWORD=$TOUR_KEYCLOAK_PASSWORD JAVA_OPTS_APPEND=-Xmx1g \
        setsid "$keycloak/bin/kc.sh" start --optimized --cache=local --http-enabled=true --http-host=127.0.0.1 \
        --http-port="$port" --hostname="$TOUR_KEYCLOAK" >"$root/run/keycloak" 2>&1 </dev/null &
    local script=$! deadline=$((SECONDS + 300))
    # A group of its own: the script waits for the program.
    pids+=("-$script")
    until curl -sf -o /dev/null "$TOUR_KEYCLOAK/realms/master/.well-known/openid-configuration"; do
        kill -0 "$script" 2>/dev/null && ((SECONDS < deadline)) || { cat "$root/run/keycloak" >&2; exit 1; }
        sleep 0.5
    done
    ln -s "$keycloak/bin/kcadm.sh" "$root/bin/kcadm.sh"
}

# What is true after a guide although no command of it shows that.
has_mail() {
    local deadline=$((SECONDS + 120))
    until grep -qF "$1" "$work/mail"; do
        ((SECONDS < deadline)) || { echo "no mail with: $1" >&2; cat "$work/mail" >&2; return 1; }
        sleep 0.2
    done
}

walk() {
    local guide=$1 page=docs/guides/$1.md home=$root/home/$1
    mkdir -p "$home"
    case $guide in
    first-fleet) ;;
    monitoring-tools) begin_installed; make_api_key ;;
    upgrade)
        begin_installed
        (cd "$home" && touch newer.deb older.deb && sha256sum newer.deb older.deb >SHA256SUMS)
        export TOUR_PACKAGE=./newer.deb TOUR_OLDER=./older.deb
        ;;
    moving-to-postgresql) begin_installed; export TOUR_DATABASE=$GUIDES_DATABASE ;;
    keycloak) begin_installed; start_keycloak ;;
    # Recipients are public addresses; a name would be looked up.
    mimir-in-front) begin_installed; export TOUR_ROUTER=$GUIDES_ROUTER TOUR_PAGER=https://203.0.114.10/hook ;;
    *) begin_installed ;;
    esac
    # The shell of the guides comes before each of them.
    local script=$root/run/script raw=$root/run/raw printed=$root/run/printed
    {
        python3 scripts/blocks.py extract docs/guides/README.md | sed "/^echo '===/d"
        python3 scripts/blocks.py extract "$page"
    } | here >"$script"
    (cd "$home" && HOME=$home timeout 300 bash "$script") >"$raw" 2>"$raw.errors" ||
        { there <"$raw" >&2; there <"$raw.errors" >&2; tail -n 30 "$root/run/log" >&2; echo "$page: a command failed" >&2; return 1; }
    there <"$raw" >"$printed"
    python3 scripts/blocks.py shown "$page" "$printed"
    case $guide in first-fleet) has_mail DiskSpaceLow; has_mail noc@example.org ;; esac
    echo "$page: as it says"
}

root=$work/machine address=$(port)
make_machine
export PATH=$root/bin:$PATH
start_mail
for guide in "${@:-first-fleet}"; do walk "$guide"; done
systemctl stop bailiwick
