"""Lists and reports read a replica that keeps up; what decides about money reads the primary, and so does all once it lags."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from gateway.core.postgres.replica import HEADER
from tests.deploy.florinctl import Server, florinctl, server
from tests.deploy.releases import Release, fresh_secrets
from tests.tree import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow]
MOST_LAG_SECONDS = 6.0


class Standby(Server):
    """A streaming replica of a server, in a folder of its own."""

    def __init__(self, primary: Server) -> None:
        home = primary.home / "standby"
        super().__init__(home, primary.postgres.folder, primary.user)
        home.mkdir()
        self.postgres.give(home)
        source = ("--dbname", primary.url, "--write-recovery-conf")
        self.postgres.run("pg_basebackup", "--pgdata", self.data, *source)
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.write(f"unix_socket_directories = '{home}'\narchive_mode = off\n")
        self.start()


@contextmanager
def standby_of(primary: Server) -> Iterator[Standby]:
    made = Standby(primary)
    try:
        yield made
    finally:
        if (made.data / "postmaster.pid").exists():
            made.stop()


def create(client: httpx.Client, ref: str) -> httpx.Response:
    body = {"amount": "25.00", "currency": "USD", "order_ref": ref}
    return client.post("/api/v1/checkouts", json=body)


def listed(client: httpx.Client) -> tuple[list[str], bool]:
    """The orders of a list, newest first, and whether it came from the replica."""
    answer = client.get("/api/v1/checkouts?include_total=false")
    assert answer.status_code == 200
    data: list[Any] = json.loads(answer.text)["data"]
    return [one["references"]["order_ref"] for one in data], HEADER in answer.headers


def test_lists_read_the_replica_until_it_lags_and_money_never_does() -> None:
    with server() as primary, standby_of(primary) as standby:
        release = Release(
            ROOT,
            primary.url,
            REPLICA_URL=standby.url,
            REPLICA_MOST_LAG_SECONDS=str(MOST_LAG_SECONDS),
            **fresh_secrets(),
        )
        release.manage("migrate", "--verbosity=0")
        shop = release.open_shop("http://127.0.0.1:9/")
        with release.serving() as client:
            client.headers["Authorization"] = f"Bearer {shop.test_key}"
            first = create(client, "first")
            assert first.status_code == 201
            wait_until(lambda: listed(client) == (["first"], True), pause=2.1)
            florinctl.ask(standby.postgres, standby.url, "SELECT pg_wal_replay_pause()")
            second = create(client, "second")
            assert second.status_code == 201
            # It is read as it is: late, and says so.
            assert listed(client) == (["first"], True)
            # What decides asks the primary: the order that the replica does not know is there.
            again = create(client, "second")
            assert (again.status_code, again.json()["id"]) == (200, second.json()["id"])
            one = client.get(f"/api/v1/checkouts/{second.json()['id']}")
            assert one.status_code == 200
            both = (["second", "first"], False)
            wait_until(lambda: listed(client) == both, pause=2.1)
            florinctl.ask(standby.postgres, standby.url, "SELECT pg_wal_replay_resume()")
            wait_until(lambda: listed(client) == (both[0], True), pause=2.1)
            standby.stop()
            assert listed(client) == both
