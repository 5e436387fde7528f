# The Debian package in a fresh Debian: installed, upgraded over the version before, removed, purged. Sourced by run.sh.

suite=bookworm
# Where Debian is fetched from on this machine; nothing = debootstrap's own choice.
mirror() {
    apt-get indextargets 'Created-By: Packages' --format '$(SITE) $(CODENAME) $(COMPONENT)' 2>/dev/null |
        awk -v suite="$suite" '$2 == suite && $3 == "main" { print $1; exit }'
}

in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"; }

# The archive of a fresh Debian, with what packages of ours need in the cache of apt. Made once, and kept.
base_system() {
    local cache=${XDG_CACHE_HOME:-$HOME/.cache}/bailiwick-tests
    base=$cache/debian-$suite-$(dpkg --print-architecture).tar
    [[ -s $base ]] && return
    say "making a fresh Debian, once ($base)"
    mkdir -p "$cache"
    local root=$work/base place
    place=$(mirror)
    debootstrap --variant=minbase "$suite" "$root" ${place:+"$place"} >"$work/debootstrap.log" 2>&1 ||
        fail "debootstrap: $(tail -n 5 "$work/debootstrap.log")"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    in_root apt-get -q clean
    in_root apt-get -q update >"$work/apt.log" 2>&1 || fail "apt: $(<"$work/apt.log")"
    in_root apt-get -q install -y --no-install-recommends --download-only ca-certificates libgcc-s1 passwd tzdata \
        >"$work/apt.log" 2>&1 || fail "apt: $(<"$work/apt.log")"
    tar -cf "$base.new" -C "$root" .
    mv "$base.new" "$base"
    rm -rf "$root"
}

# Installs a package file with what it depends on, as an administrator does.
install_package() {
    cp "$1" "$root/package.deb"
    in_root apt-get -q install -y --no-install-recommends /package.deb >"$work/apt.log" 2>&1 || fail "apt: $(<"$work/apt.log")"
}

of_unit() { sed -n "s/^$1=//p" "$root/lib/systemd/system/bailiwick.service"; }

# Starts the service as its unit says; what systemd does there is done here.
start_unit() {
    local user command
    user=$(of_unit User)
    command=$(of_unit ExecStart)
    in_root install -d -m "$(of_unit StateDirectoryMode)" -o "$user" -g "$user" "/var/lib/$(of_unit StateDirectory)"
    chroot --userspec="$user:$(of_unit Group)" "$root" /usr/bin/env -i PATH=/usr/bin:/bin /bin/sh -c \
        "umask $(of_unit UMask) && cd $(of_unit WorkingDirectory) && exec $command" >>"$work/service.log" 2>&1 &
    unit=$!
    pids+=("$unit")
    until_true 'the service answers' curl -sf "$service/health"
}

# A command as the manual page says, by the user of the service.
as_service() {
    chroot --userspec=bailiwick:bailiwick "$root" /usr/bin/env -i PATH=/usr/bin:/bin \
        bailiwick --config /etc/bailiwick/bailiwick.toml "$@"
}

# What the administrator writes into the configuration.
configure() {
    local listen=127.0.0.1:$(port) file=$root/etc/bailiwick/bailiwick.toml
    service=http://$listen
    sed -i -e "s|^listen = .*|listen = \"$listen\"|" -e "s|^# public_url = .*|public_url = \"$service\"|" \
        -e 's|^# email = .*|email = "admin@example.org"|' "$file"
    printf '\n[alerting]\ngroup_wait = "1s"\ntimezone = "Europe/Rome"\n' >>"$file"
    printf '\n[smtp]\nhost = "127.0.0.1"\nport = %s\ntls = "none"\nfrom = "fleet@example.org"\n' "$1" >>"$file"
}

installed_as_promised() {
    [[ $(in_root stat -c '%U:%G:%a' /etc/bailiwick/bailiwick.toml) == root:bailiwick:640 ]] || fail 'the configuration is open'
    [[ ! -e $root/var/lib/bailiwick ]] || fail 'the package has made the directory of the data'
    [[ -z $(find "$root/etc/systemd/system" -name 'bailiwick*' 2>/dev/null) ]] || fail 'the unit is enabled'
    grep -q 'try-restart' "$root/var/lib/dpkg/info/bailiwick.postinst" || fail 'an upgrade restarts nothing'
    grep -q 'invoke stop' "$root/var/lib/dpkg/info/bailiwick.prerm" || fail 'removal stops nothing'
    grep -q 'deb-systemd-invoke.* start ' "$root/var/lib/dpkg/info/bailiwick.postinst" && fail 'the package starts the service'
    local file
    for file in usr/share/man/man1/bailiwick.1.gz usr/share/doc/bailiwick/{deployment.md,internals/storage.md} \
        usr/share/doc/bailiwick/{specification/README.md,prometheus/bailiwick.rules.yml,grafana/bailiwick.json} \
        usr/share/doc/bailiwick/{copyright,changelog.gz,THIRD-PARTY-LICENSES,pictures/home.png} \
        usr/share/{bash-completion/completions/bailiwick,zsh/vendor-completions/_bailiwick}; do
        [[ -s $root/$file ]] || fail "/$file is missing"
    done
}

api() {
    curl -sS --fail-with-body -H "Authorization: Bearer $token" -H 'Content-Type: application/json' "$service/api$1" "${@:2}"
}

# A customer with a system, whose alert reaches a mail server.
use_it() {
    token=$(as_service token admin@example.org 2>"$work/last") || fail "no token: $(<"$work/last")"
    local customer
    customer=$(api /customers -d '{"name":"Gamma Srl","custom_data":{"vat":"IT1"}}' | jq -er .data.id)
    system=$(api /systems -d "{\"name\":\"Milan cluster\",\"organization_id\":\"$customer\"}" | jq -er .data)
    credential=$(jq -er '"\(.system_key):\(.system_secret)"' <<<"$system")
    api /systems/register -d "$(jq '{system_secret}' <<<"$system")" >"$work/last"
    api /alerts/config -d '{"enabled":{"email":true},"email_recipients":[{"address":"noc@example.org"}]}' >"$work/last"
    alert DiskFull
}

# An alert of the system, and the mail about it.
alert() {
    curl -sS --fail-with-body -u "$credential" -H 'Content-Type: application/json' \
        "$service/collect/api/services/mimir/alertmanager/api/v2/alerts" -d "[{\"labels\":{\"alertname\":\"$1\"}}]" >"$work/last"
    until_true "a mail of $1" grep -q "\"to\": \[\"noc@example.org\"\].*$1" "$work/mails/messages"
}

is_still_there() {
    token=$(as_service token admin@example.org 2>"$work/last") || fail "no token: $(<"$work/last")"
    [[ $(api "/systems/$(jq -er .id <<<"$system")" | jq -er .data.organization.name) == 'Gamma Srl' ]] || fail 'the system is gone'
    api /alerts | jq -e '.data | tostring | contains("DiskFull")' >"$work/last" || fail 'the alert is gone'
    alert Overheated
}

start_mail_server() {
    local control
    control=$(port)
    mail_port=$(port)
    mkdir "$work/mails"
    touch "$work/mails/messages"
    "$(python_with_aiosmtpd)" crates/testkit/src/parts/smtp_sink.py "$control" &
    pids+=($!)
    until_true 'the mail server starts' open_mail_server "$control"
}

python_with_aiosmtpd() {
    local python
    for python in /usr/bin/python3 python3; do
        "$python" -c 'import aiosmtpd.smtp' 2>/dev/null && { echo "$python"; return; }
    done
}

open_mail_server() {
    exec 9<>"/dev/tcp/127.0.0.1/$1" || return 1
    echo "open $mail_port $work/mails" >&9
    [[ $(head -n 1 <&9) == ok ]]
}

# test_debian BEFORE NOW: package files.
test_debian() {
    base_system
    root=$work/root
    mkdir "$root"
    tar -xf "$base" -C "$root"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    start_mail_server

    install_package "$1"
    installed_as_promised
    configure "$mail_port"
    start_unit
    use_it
    [[ $(in_root stat -c '%U:%a' /var/lib/bailiwick/bailiwick.db) == bailiwick:600 ]] || fail 'the database is open'
    say "$(in_root dpkg-query -W bailiwick) is installed, serves and tells an alert by mail"

    # As `systemctl try-restart` does it.
    install_package "$2"
    stop "$unit"
    start_unit
    is_still_there
    grep -q 'admin@example.org' "$root/etc/bailiwick/bailiwick.toml" || fail 'the configuration was replaced'
    say "$(in_root dpkg-query -W bailiwick) has taken over data and configuration"

    stop "$unit"
    in_root apt-get -q remove -y bailiwick >"$work/apt.log" 2>&1 || fail "apt: $(<"$work/apt.log")"
    [[ ! -e $root/usr/bin/bailiwick && -s $root/var/lib/bailiwick/bailiwick.db && -s $root/etc/bailiwick/bailiwick.toml ]] ||
        fail 'removal took data or configuration away, or left the program'
    in_root apt-get -q purge -y bailiwick >"$work/apt.log" 2>&1 || fail "apt: $(<"$work/apt.log")"
    [[ ! -e $root/var/lib/bailiwick && ! -e $root/etc/bailiwick ]] || fail 'purging left data or configuration'
    in_root getent passwd bailiwick >"$work/last" || fail 'purging took the user away'
    say 'removal keeps data and configuration, purging takes them away'
}
