#!/bin/sh
# What the official image of PostgreSQL does at its start, as far as compose.yaml and florinctl need it.
set -eu
if [ "$1" != postgres ]; then
    exec "$@"
fi
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA"
    chown -R postgres:postgres "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --clear-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    initdb --pgdata="$PGDATA" --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth=trust
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    printf "listen_addresses = '*'\nunix_socket_directories = '/tmp'\n" >>"$PGDATA/postgresql.conf"
    pg_ctl --pgdata="$PGDATA" --options="-c listen_addresses=" --wait start
    POSTGRES_PASSWORD="$(cat "$POSTGRES_PASSWORD_FILE")" PGHOST=/tmp sh /docker-entrypoint-initdb.d/florin.sh
    pg_ctl --pgdata="$PGDATA" --mode=fast --wait stop
fi
exec "$@"
