#!/bin/sh
# The first start of PostgreSQL's container runs this. Florin's role owns its database, may stream backups, and is no superuser.
# The superuser gets no password, so that nobody is it by network; in the container it comes by the socket.
set -eu
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
\getenv password POSTGRES_PASSWORD
CREATE ROLE florin LOGIN REPLICATION PASSWORD :'password';
CREATE DATABASE florin OWNER florin;
ALTER ROLE CURRENT_USER PASSWORD NULL;
SQL
