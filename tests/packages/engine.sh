# The image in podman, where it is installed and may run containers. Sourced by run.sh.

# Runs podman with storage of its own, which needs no file system of its kind.
podman_here() {
    podman --root "$work/containers" --runroot "$work/run" --storage-driver vfs --cgroup-manager cgroupfs \
        --events-backend file "$@"
}

# Starts the image by one of the runtimes that are there; sets `container`.
run_container() {
    local runtime most
    most=$(ulimit -Hn)
    for runtime in crun runc; do
        command -v "$runtime" >"$work/last" || continue
        container=$(podman_here --runtime "$runtime" run --detach --network host --ulimit "nofile=$most:$most" \
            --ulimit nproc=1000:1000 --env "BAILIWICK_HTTP__LISTEN=$1" "bailiwick:$version" 2>"$work/podman.log") && return
    done
    return 1
}

# test_engine IMAGE
test_engine() {
    command -v podman >"$work/last" || { say 'podman is not installed: the image is not run by it'; return 0; }
    podman_here load --quiet --input "$1" >"$work/podman.log" 2>&1 || fail "podman cannot load it: $(<"$work/podman.log")"
    run_container "127.0.0.1:$(port)" || { say "podman runs no containers here: $(tail -n 1 "$work/podman.log")"; return 0; }
    until_true 'podman runs it' podman_here exec "$container" /usr/bin/bailiwick health --ready
    podman_here stop --time 60 "$container" >"$work/last"
    [[ $(podman_here inspect --format '{{.State.ExitCode}}' "$container") == 0 ]] || fail 'it does not end well in podman'
    podman_here rm "$container" >"$work/last"
    container=
    say 'podman runs the image'
}
