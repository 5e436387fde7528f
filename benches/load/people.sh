# The business side under load: a synthetic tree of 20,000 organizations and 100,000 users, seen by one person of each
# level. Sourced by run.sh after parts.sh.

# The largest organization of a family by one of its inline counts, and the e-mail of an administrator of it.
someone_of() {
    local family=$1 count=$2 id
    id=$(call "$service/api/$family?page_size=100&sort_by=created_at&sort_direction=asc" |
        jq -r ".data.$family | max_by(.$count) | .id")
    call "$service/api/users?organization_id=$id&role=admin&status=enabled&page_size=1" | jq -r '.data.users[0].email'
    printf '%s\n' "$id" >"$work/$family.id"
}

# make_people [SYSTEMS]: fills the database with the tree; sets personas to tokens.
make_people() {
    BAILIWICK_LOG__LEVEL=error "$program" demo --still --organizations "${BENCH_ORGANIZATIONS:-20000}" --users "${BENCH_USERS:-100000}" --systems "${1:-20000}" >/dev/null
    launch
    bearer=$("$program" token owner@bailiwick.example)
    declare -gA personas
    personas[owner]=$bearer
    personas[distributor]=$("$program" token "$(someone_of distributors customers_count)")
    personas[reseller]=$("$program" token "$(someone_of resellers customers_count)")
    personas[customer]=$("$program" token "$(someone_of customers systems_count)")
}

# What everybody's screens ask for; {D} {R} {C} stand for an organization of each family.
people_paths() {
    local family
    for family in distributors resellers customers users; do
        printf '%s\n' "/$family" "/$family?sort_by=name&sort_direction=asc" "/$family/totals" "/filters/$family"
    done
    printf '%s\n' "/users?sort_by=email&sort_direction=desc" "/users?sort_by=latest_login_at&sort_direction=desc" \
        "/users?sort_by=organization" "/customers?sort_by=description" "/customers?sort_by=creator_name" \
        "/organizations?page=1&page_size=50" "/distributors/{D}/stats" "/resellers/{R}/stats" "/customers/{C}/stats" \
        "/customers/trend?period=365" "/users/trend?period=365" "/users?search=rossi" "/customers?search=srl"
}

# measure_people PERSONA: the slowest p99 of every path the person may ask for, with its path, and how many there were.
measure_people() {
    local token=${personas[$1]} path code p99 asked=0
    : >"$work/people"
    while read -r path; do
        path=${path//\{D\}/$(<"$work/distributors.id")}
        path=${path//\{R\}/$(<"$work/resellers.id")}
        path=${path//\{C\}/$(<"$work/customers.id")}
        code=$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" "$service/api$path")
        [[ $code == 200 ]] || continue
        wrk -t 1 -c 8 -d 2s --latency -H 'Accept-Encoding: gzip' -H "Authorization: Bearer $token" "$service/api$path" >"$work/wrk.out"
        p99=$(awk '/99%/ { v = $2; if (v ~ /us$/) v = v / 1000; else if (v ~ /ms$/) v += 0; else v *= 1000; printf "%.2f", v }' "$work/wrk.out")
        printf '%s %s\n' "$p99" "$path" >>"$work/people"
    done < <(people_paths)
    sort -rn "$work/people" | head -n "${BENCH_SLOWEST:-1}" | awk '{ printf "%sp99 %s ms (%s)", (NR > 1 ? ", " : ""), $1, $2 }'
    asked=$(wc -l <"$work/people")
    printf '; %s paths' "$asked"
}

# The search that finds most users, but no more than an export takes: "term count".
export_search() {
    local term count best=0 found=
    for term in a e i o r ro ma an ar il la ss nn tt lu gi .1 .2 .3 .10 .20 .30; do
        count=$(call "$service/api/users?page_size=1&search=$term" | jq -r .data.pagination.total_count)
        if ((count <= 10000 && count > best)); then best=$count found=$term; fi
    done
    printf '%s %s\n' "$found" "$best"
}

# Milliseconds of one call.
timed() { call -o "$work/answer" -w '%{time_total}' "$@" | awk '{ printf "%.0f", $1 * 1000 }'; }

# Highest resident memory, in MB, since the last reset.
peak() { awk '/VmHWM/ { printf "%.0f", $2 / 1024 }' "/proc/$service_pid/status"; }

people_part() {
    local engine=$1 persona format limit id idle search rows took
    stop_service
    start_service "$engine"
    stop_service
    make_people
    for persona in owner distributor reseller customer; do
        wants people || break
        row "lists, totals, stats, filters as $persona, 8 connections, the slowest" "$engine" \
            "$(measure_people "$persona")" 'p99 ≤ 30 ms'
    done
    wants exports || return 0
    read -r search rows < <(export_search)
    for format in csv pdf; do
        limit=2
        [[ $format == csv ]] || limit=5
        stop_service
        launch
        idle=$(resident "$service_pid")
        took=$(timed "$service/api/users/export?format=$format&search=$search")
        row "export of $rows users as $format" "$engine" \
            "$took ms, $(($(stat -c %s "$work/answer") / 1024)) kB, $(($(peak) - idle)) MB above idle" \
            "≤ $limit s for 10,000 rows, ≤ 100 MB"
    done
    id=$(<"$work/distributors.id")
    row 'suspend the biggest distributor' "$engine" "$(timed -X PATCH "$service/api/distributors/$id/suspend") ms" '≤ 200 ms'
    row 'reactivate it' "$engine" "$(timed -X PATCH "$service/api/distributors/$id/reactivate") ms" '≤ 200 ms'
    stop_service
}
