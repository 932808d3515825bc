"""Addresses of databases: every form that libpq knows, and waits that end."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db.utils import ConnectionHandler
from psycopg.conninfo import make_conninfo

from gateway.core.postgres.addresses import REPLICA, databases


def made(url: str, replica_url: str = "") -> dict[str, dict[str, Any]]:
    return databases(url, replica_url, prepare=False, test_suffix="7")


def test_an_address_with_two_hosts_names_both_and_which_to_take() -> None:
    one = made("postgresql://florin:pw@db1:5432,db2:5433/shop?target_session_attrs=read-write")["default"]
    assert (one["HOST"], one["PORT"], one["NAME"]) == ("db1,db2", "5432,5433", "shop")
    assert one["OPTIONS"]["target_session_attrs"] == "read-write"


@pytest.mark.django_db
def test_of_two_hosts_the_one_that_lives_is_found(tmp_path: Path) -> None:
    ours = settings.DATABASES["default"]["HOST"]
    port = settings.DATABASES["default"]["PORT"]
    both = make_conninfo(
        settings.DATABASE_URL,
        host=f"{tmp_path},{ours}",
        port=f"{port},{port}",
        target_session_attrs="read-write",
        dbname="postgres",
    )
    handler = ConnectionHandler(made(both))
    with handler["default"].cursor() as cursor:
        cursor.execute("SELECT current_database()")
        assert cursor.fetchone() == ("postgres",)
    handler["default"].close()


def test_a_host_that_vanished_is_not_waited_for_for_ever() -> None:
    options = made("postgresql://db1/florin")["default"]["OPTIONS"]
    idle, interval, count = (options[f"keepalives_{name}"] for name in ("idle", "interval", "count"))
    assert idle + interval * count < 15
    assert options["tcp_user_timeout"] < 15_000
    assert options["connect_timeout"] == 5


def test_what_the_address_says_of_time_counts() -> None:
    options = made("postgresql://db1/florin?keepalives_idle=60&connect_timeout=9")
    assert options["default"]["OPTIONS"]["keepalives_idle"] == "60"
    assert options["default"]["OPTIONS"]["connect_timeout"] == "9"


def test_there_is_a_replica_where_one_is_named() -> None:
    assert set(made("postgresql://db1/florin")) == {"default"}
    both = made("postgresql://db1/florin", "postgresql://db2/florin")
    assert both[REPLICA]["HOST"] == "db2"
    assert both[REPLICA]["TEST"] == {"MIRROR": "default"}
