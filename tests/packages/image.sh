# The image, unpacked by a program that knows nothing of how it was made. Sourced by run.sh.

# Lists what is in the image beside time zones and, in a dynamically linked build, libraries.
list_root() {
    (cd "$1" && find . -mindepth 1 -not -path './usr/share/zoneinfo/*' -not -path './lib*' -not -path './usr/lib*' \
        -printf '%M %U:%G %p\n') | sort -k 3
}

expected_root() {
    cat <<'END'
drwxr-xr-x 0:0 ./etc
-rw-r--r-- 0:0 ./etc/group
-rw-r--r-- 0:0 ./etc/nsswitch.conf
-rw-r--r-- 0:0 ./etc/passwd
drwxr-xr-x 0:0 ./etc/ssl
drwxr-xr-x 0:0 ./etc/ssl/certs
-rw-r--r-- 0:0 ./etc/ssl/certs/ca-certificates.crt
drwxr-xr-x 0:0 ./usr
drwxr-xr-x 0:0 ./usr/bin
-rwxr-xr-x 0:0 ./usr/bin/bailiwick
drwxr-xr-x 0:0 ./usr/share
drwxr-xr-x 0:0 ./usr/share/doc
drwxr-xr-x 0:0 ./usr/share/doc/bailiwick
-rw-r--r-- 0:0 ./usr/share/doc/bailiwick/LICENSE-APACHE
-rw-r--r-- 0:0 ./usr/share/doc/bailiwick/LICENSE-MIT
-rw-r--r-- 0:0 ./usr/share/doc/bailiwick/THIRD-PARTY-LICENSES
drwxr-xr-x 0:0 ./usr/share/zoneinfo
drwxr-xr-x 0:0 ./var
drwxr-xr-x 0:0 ./var/lib
drwx------ 10001:10001 ./var/lib/bailiwick
END
}

# The health check that the image names for Docker.
health_check() {
    local check
    mapfile -t check < <(jq -r '.config.Healthcheck.Test[1:][]' "$work/image.json")
    python3 tests/packages/enter.py "$bundle" "$listen" -- "${check[@]}" "$@"
}

# The program alone, as a tarball brings it: a root without zones, certificates, users and devices.
test_alone() {
    local alone=$work/alone
    cp -a "$bundle/rootfs" "$alone"
    rm -rf "$alone"/{etc,usr/share,var}
    mkdir "$alone/data"
    local run=(chroot "$alone" /usr/bin/bailiwick --data-dir /data --listen "127.0.0.1:$(port)")
    "${run[@]}" serve >"$work/service.log" 2>&1 &
    local service=$!
    pids+=("$service")
    until_true 'the program serves in an empty root' "${run[@]}" health --ready
    stop "$service"
}

test_image() {
    local layout=$work/layout manifest
    bundle=$work/bundle
    mkdir "$layout"
    tar -xf "$1" -C "$layout"
    umoci unpack --image "$layout:$version" "$bundle" 2>"$work/umoci.log" || fail "umoci: $(<"$work/umoci.log")"
    manifest=$(jq -r '.manifests[0].digest | sub(":"; "/")' "$layout/index.json")
    cp "$layout/blobs/$(jq -r '.config.digest | sub(":"; "/")' "$layout/blobs/$manifest")" "$work/image.json"
    expected_root >"$work/expected"
    list_root "$bundle/rootfs" >"$work/listed"
    same 'the files of the image' "$work/expected" "$work/listed"

    listen=BAILIWICK_HTTP__LISTEN=0.0.0.0:$(port)
    health_check >"$work/last" 2>&1 && fail 'it is healthy before it runs'
    # A zone of the image's own, and certificates for outgoing requests.
    python3 tests/packages/enter.py "$bundle" "$listen" BAILIWICK_ALERTING__TIMEZONE=Europe/Rome >"$work/service.log" 2>&1 &
    local service=$!
    pids+=("$service")
    until_true 'the image serves' health_check --ready
    health_check
    [[ $(stat -c %u:%a "/proc/$service") == 10001:* ]] || fail 'it does not run as its user'
    [[ -s $bundle/rootfs/var/lib/bailiwick/bailiwick.db ]] || fail 'its data is not in the volume'
    stop "$service"
    health_check >"$work/last" 2>&1 && fail 'it is healthy after its end'
    test_alone
    say "the image serves as user 10001 from a root with nothing else in it"
}
