# Installs podman on a Debian without systemd, in a container whose kernel may have cgroups of the first version.
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qqy --no-install-recommends podman runc netavark aardvark-dns iptables catatonit \
    python3 python3-venv age openssh-client
python3 -m venv /opt/compose
/opt/compose/bin/pip install -q podman-compose
ln -s /opt/compose/bin/podman-compose /usr/local/bin/
mkdir -p /etc/containers/containers.conf.d
cat >/etc/containers/containers.conf.d/try.conf <<'SETTINGS'
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
[containers]
default_ulimits = ["nofile=1024:4096", "nproc=1024:1024"]
SETTINGS
