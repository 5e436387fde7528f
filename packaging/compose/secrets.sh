#!/bin/sh
# Makes the secrets of mimir.yaml in ./secrets, once. Those that are there already stay as they are. The directory keeps
# others out; the files themselves can be read by the users of the containers.
set -eu
cd "$(dirname "$0")"

random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
write() { [ -e "secrets/$1" ] || { printf '%s\n' "$2" >"secrets/$1" && chmod 444 "secrets/$1"; }; }

mkdir -p secrets
chmod 700 secrets
for name in secret database_password history_webhook backups_key mimir_storage_key; do
    write "$name" "$(random)"
done
write database_url "postgres://bailiwick:$(cat secrets/database_password)@database/bailiwick"
write mimir_storage "[default]
aws_access_key_id = mimir
aws_secret_access_key = $(cat secrets/mimir_storage_key)"
