"""The database is destroyed and comes back from a backup: nothing is credited twice, nothing is lost, revoked keys are named."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.faults.conftest import Lender
from tests.faults.oracle import last_words, settle
from tests.installation import Installation
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

CREDITED = """
    SELECT c.public_id, count(p.id) FROM checkouts_checkout c
    LEFT JOIN checkouts_payment p ON p.checkout_id = c.id GROUP BY c.id
"""
IN_INBOX = """
    SELECT t.tx_hash, i.reason FROM checkouts_inboxitem i JOIN wallets_transfer t ON t.id = i.transfer_id
    WHERE i.status = 'open'
"""
OUTCOME = """
    SELECT (SELECT count(*) FROM wallets_transfer WHERE state = 'confirmed'),
        (SELECT count(*) FROM checkouts_payment), (SELECT count(*) FROM checkouts_inboxitem)
"""
TOLD = """
    SELECT count(*) FROM webhooks_delivery d JOIN webhooks_event e ON e.id = d.event_id
    WHERE e.type = 'gateway.restored' AND d.status = 'delivered'
"""


@pytest.fixture
def installation(lender: Lender) -> Iterator[Installation]:
    """One that nobody used before, for the test counts everything in it; and nobody uses it afterwards."""
    lender.close()
    made = lender.lend(Installation)
    made.restore()
    yield made
    lender.close()


@contextmanager
def stopped(installation: Installation) -> Iterator[Any]:
    """Nobody is connected to the database; yields a connection to the server beside it."""
    for name in list(installation.names):
        installation.kill(name)
    installation.database.close()
    beside = urlsplit(installation.database.url)._replace(path="/postgres").geturl()
    with psycopg.connect(beside, autocommit=True) as server:
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'florin'")
        yield server
    installation.restore()


def test_after_a_restore_nothing_is_credited_twice_or_lost_and_the_revoked_key_is_named(
    installation: Installation,
) -> None:
    paid, waiting = installation.create_checkouts(2)
    installation.pay(paid)
    settle(installation)
    with stopped(installation) as server:
        server.execute("CREATE DATABASE backup TEMPLATE florin")
        lost_from = server.execute("SELECT clock_timestamp()").fetchone()[0]
    key = installation.database.value("SELECT public_id FROM accounts_apikey")
    [lost] = installation.create_checkouts(1)
    installation.pay(waiting)
    strayed = installation.pay(lost)
    settle(installation)
    installation.clerk.ask("revoke_key", public_id=key)
    ids = installation.home / "lost-checkouts"
    ids.write_text(f"{lost.public_id}\n{waiting.public_id}\n")
    with stopped(installation) as server:
        server.execute("DROP DATABASE florin WITH (FORCE)")
        server.execute("CREATE DATABASE florin TEMPLATE backup")
        server.execute("DROP DATABASE backup")
        said = installation.clerk.ask("after_restore", lost_from=lost_from.isoformat(), checkouts=str(ids))
    assert key in said
    installation.finalize()
    try:
        wait_until(lambda: _what_became_of(installation) == (3, 2, 1))
    except AssertionError:
        became = f"final, credited, in the inbox: {_what_became_of(installation)}"
        raise AssertionError("\n".join([became, *last_words(installation)])) from None
    credited = dict(installation.database.rows(CREDITED))
    assert credited == {paid.public_id: 1, waiting.public_id: 1}
    assert installation.database.rows(IN_INBOX) == [(strayed, "unmatched")]
    wait_until(lambda: installation.database.value(TOLD) == 1)


def _what_became_of(installation: Installation) -> tuple[Any, ...]:
    """How many transfers are final, how many of them are credited, and how many wait for a person."""
    return installation.database.rows(OUTCOME)[0]
