"""Django's entry for a database, from its address."""

from typing import Any, Final

from psycopg.conninfo import conninfo_to_dict

REPLICA: Final = "replica"
# Otherwise a host that does not answer would block every thread, including health checks; and one that vanished in the middle
# of an answer would block it for two hours, or a quarter of one.
_SHORT_WAITS: Final = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


def databases(url: str, replica_url: str, *, prepare: bool, test_suffix: str) -> dict[str, dict[str, Any]]:
    """Return Django's DATABASES: the primary, and a replica if there is one."""
    primary = _database(url, prepare=prepare)
    primary["TEST"] = {"NAME": f"test_florin{test_suffix}"}
    if not replica_url:
        return {"default": primary}
    replica = _database(replica_url, prepare=prepare)
    # Requests wait for it in vain once, and then ask the primary.
    replica["OPTIONS"]["connect_timeout"] = 2
    replica["TEST"] = {"MIRROR": "default"}
    return {"default": primary, REPLICA: replica}


def _database(url: str, *, prepare: bool) -> dict[str, Any]:
    # libpq parses the address, so every form it knows (sockets, several hosts, TLS options) works here too.
    server = conninfo_to_dict(url) if url else {}
    return {
        "ENGINE": "gateway.core.postgres",
        "NAME": server.pop("dbname", "florin"),
        "USER": server.pop("user", ""),
        "PASSWORD": server.pop("password", ""),
        "HOST": server.pop("host", ""),
        "PORT": server.pop("port", ""),
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        # Server-side cursors would outlive their transactions in a session.
        "DISABLE_SERVER_SIDE_CURSORS": True,
        "OPTIONS": {**_SHORT_WAITS, **server, "server_side_binding": True, "prepare_threshold": 2 if prepare else None},
    }
