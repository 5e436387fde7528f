#!/usr/bin/env bash
# Checks that dependencies between the crates go one way, that each outside library stays where it belongs, that the tests ask for
# no other features of the program's libraries than the program does (each would be built twice), and that the top-level modules
# of a crate make no circle (scripts/modules.py). The directions:
# server → {api, console} → web → app → alerts → fleet → directory → identity → events → settings → platform → store → policy → domain,
# and {outbound, inventory, alertmanager, export} → domain below them; server → demo → alerts; api → guide, which knows none of the others. Only dependencies of the product count; tests may use
# what they like.
set -euo pipefail
cd "$(dirname "$0")/.."

# Our crates from the bottom to the top. A crate may name only crates to its left, and of those the ones in its row.
order=(
    domain policy inventory alertmanager store outbound export platform settings events identity directory fleet alerts demo
    app guide web api console server
)
declare -A may_use=(
    [domain]=''
    [policy]='domain'
    [inventory]='domain'
    [alertmanager]='domain'
    [store]='domain policy'
    [outbound]='domain alertmanager'
    [export]='domain'
    [platform]='domain policy store'
    [settings]='domain inventory alertmanager store outbound platform'
    [events]='domain policy alertmanager store outbound platform settings'
    [identity]='domain policy alertmanager store outbound platform settings events'
    [directory]='domain policy store outbound export platform settings events identity'
    [fleet]='domain policy inventory store outbound export platform settings events identity directory'
    [alerts]='domain policy alertmanager store outbound platform settings events identity directory fleet'
    [demo]='domain policy inventory alertmanager store platform identity directory fleet alerts'
    [app]='domain policy store outbound platform settings events identity directory fleet alerts'
    [guide]=''
    [web]='domain platform directory fleet alerts app'
    [api]='domain policy alertmanager platform settings events identity directory fleet alerts app guide web'
    [console]='domain policy alertmanager platform settings events identity directory fleet alerts app web'
    [server]='domain platform settings events identity directory fleet alerts demo app api console'
)
# Crates of ours that may name an outside library; libraries that are not listed may be named anywhere.
declare -A belongs_to=(
    [sqlx]='store'
    [jiff-sqlx]='store'
    [axum]='web api console server'
    [tower-http]='api server'
    [hyper]='api server outbound'
    [hyper-util]='server outbound'
    [hyper-rustls]='outbound'
    [lettre]='outbound'
    [pulldown-cmark]='guide'
    [csv]='export'
    [krilla]='export'
    [skrifa]='export'
    [reqwest]=''
    [time]=''
    [chrono]=''
    [tokio]='store outbound platform events identity directory fleet alerts app web api console server'
    [tokio-util]='outbound platform identity fleet alerts server'
)
# For tests and measurements only.
free='testkit tests fuzz-targets bench-fleet'

contains() { [[ " $1 " == *" $2 "* ]]; }

status=0
complain() {
    echo "direction: $*" >&2
    status=1
}

# The rows themselves: an arrow may not be allowed upwards.
below=''
for crate in "${order[@]}"; do
    [[ -v may_use[$crate] ]] || complain "$crate has no row in scripts/direction.sh"
    for used in ${may_use[$crate]-}; do
        contains "$below" "$used" || complain "the row of $crate allows an arrow upwards, to $used"
    done
    below+=" $crate"
done

members=$(cargo tree --quiet --workspace --depth 0 --prefix none --format '{p}' | cut -d' ' -f1 | sed '/^$/d')
for member in $members; do
    crate=${member#bailiwick-}
    contains "$free" "$crate" && continue
    if [[ ! -v may_use[$crate] ]]; then
        complain "$member has no row in scripts/direction.sh"
        continue
    fi
    tree=$(cargo tree --quiet -p "$member" --edges normal,build --target all --depth 1 --prefix none --format '{p}')
    named=$(tail -n +2 <<<"$tree" | cut -d' ' -f1)
    for allowed in ${may_use[$crate]}; do
        contains "${named//$'\n'/ }" "bailiwick-$allowed" || complain "the row of $crate allows $allowed, which it does not use"
    done
    for used in $named; do
        if [[ $used == bailiwick-* ]]; then
            contains "${may_use[$crate]}" "${used#bailiwick-}" || complain "$member must not depend on $used"
        elif [[ -v belongs_to[$used] ]]; then
            contains "${belongs_to[$used]}" "$crate" || complain "$member must not depend on $used"
        fi
    done
done

graph() {
    cargo tree --quiet --workspace --edges "$1" --prefix none --format '{p} [{f}]' | sed 's/ (\*)$//; s/ (proc-macro)//' | sort -u
}
while read -r built; do
    complain "the tests build $built with other features: name them in crates/testkit/Cargo.toml"
done < <(comm -23 <(graph normal,build) <(graph normal,build,dev))

scripts/modules.py crates/* || status=1
exit $status
