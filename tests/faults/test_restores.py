"""The database is destroyed and comes back from a backup: nothing is credited twice, nothing is lost, revoked keys are named."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from florin import receipts
from localnet.funding import payer
from localnet.tokens import balance_of, token_address, transfer
from tests.faults.conftest import Lender
from tests.faults.oracle import last_words, settle
from tests.installation import DOLLAR, Installation
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


def back_up(installation: Installation) -> Any:
    """Keep the database as it is beside itself; return the moment from which all is lost."""
    with stopped(installation) as server:
        server.execute("CREATE DATABASE backup TEMPLATE florin")
        return server.execute("SELECT clock_timestamp()").fetchone()[0]


def bring_back(installation: Installation, lost_from: Any, **lost: str) -> str:
    """Destroy the database, put what was kept in its place, and say so to the gateway; return what that answered."""
    with stopped(installation) as server:
        server.execute("DROP DATABASE florin WITH (FORCE)")
        server.execute("CREATE DATABASE florin TEMPLATE backup")
        server.execute("DROP DATABASE backup")
        return str(installation.clerk.ask("after_restore", lost_from=lost_from.isoformat(), **lost))


def test_after_a_restore_nothing_is_credited_twice_or_lost_and_the_revoked_key_is_named(
    installation: Installation,
) -> None:
    paid, waiting = installation.create_checkouts(2)
    installation.pay(paid)
    settle(installation)
    kept = receipt_of(installation, paid)
    lost_from = back_up(installation)
    key = installation.database.value("SELECT public_id FROM accounts_apikey")
    [lost] = installation.create_checkouts(1)
    installation.pay(waiting)
    strayed = installation.pay(lost)
    settle(installation)
    gone = receipt_of(installation, waiting)
    installation.clerk.ask("revoke_key", public_id=key)
    ids = installation.home / "lost-checkouts"
    ids.write_text(f"{lost.public_id}\n{waiting.public_id}\n")
    assert key in bring_back(installation, lost_from, checkouts=str(ids))
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
    assert receipt_of(installation, paid)["token"] == kept["token"]
    check_signed_again(installation, gone, receipt_of(installation, waiting))


def receipt_of(installation: Installation, checkout: Any) -> Any:
    """A checkout's signed receipt, and the keys that check it."""
    return installation.clerk.ask("receipt_file", checkout=checkout.public_id)


def check_signed_again(installation: Installation, gone: Any, again: Any) -> None:
    """Check that a receipt of the lost time and the one in its place are both genuine, and say the same of the money."""
    first, second = (receipts.verify(one["token"], again["jwks"]) for one in (gone, again))
    assert first["jti"] != second["jti"]
    assert first["received"] == second["received"]
    assert installation.clerk.ask("receipt_status", jti=second["jti"]) == "paid"


class Till:
    """The merchant's wallet on Base, which pays what the installation owes."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._node = installation.nodes["base"]
        self.wallet = payer(self._node).address

    def owe(self, reference: str, recipient: str) -> str:
        """Ask for a payout of 5 USDC; return its public id."""
        asked = {"amount": "5.00", "address": recipient, "reference": reference}
        return str(self._installation.clerk.ask("request_payout", **asked))

    def approve(self, payout: str) -> str:
        return str(self._installation.clerk.ask("approve", payout=payout))

    def hand_out(self, payout: str) -> str:
        """Make a batch of a payout; return why not. A chain stands still unless blocks are mined."""
        self._installation.finalize()
        return str(self._installation.clerk.ask("hand_out", payout=payout, wallet=self.wallet))

    def send(self, recipient: str) -> str:
        """Pay 5 USDC on the chain; return the transaction."""
        return transfer(self._node, payer(self._node), token_address("USDC"), recipient, 5 * DOLLAR)

    def is_paid(self, *payouts: str) -> bool:
        """Whether all of them are paid, once what is on the chain is final."""
        self._installation.finalize()
        rows = self._installation.database.rows("SELECT public_id FROM payouts_payout WHERE status = 'paid'")
        return {*payouts} <= {public_id for (public_id,) in rows}

    def ask_later(self, payout: str) -> None:
        """Let a payout be asked for two minutes later: a real restore takes longer than clocks may differ by."""
        later = "UPDATE payouts_payout SET created_at = created_at + interval '2 minutes' WHERE public_id = %s"
        self._installation.database.rows(later, payout)

    def has_seen(self, tx_hash: str) -> bool:
        """Whether the watchers recorded a transaction of the wallet."""
        rows = "SELECT count(*) FROM wallets_watchedmovement WHERE tx_hash = %s"
        return bool(self._installation.database.value(rows, tx_hash))

    def table(self, lost_from: Any) -> Callable[[str], str]:
        """Ask for the closing table; return what it says of a payout, after its address."""
        said = self._installation.clerk.ask("after_restore", lost_from=lost_from.isoformat())

        def of(payout: str) -> str:
            [line] = [line for line in said.splitlines() if payout in line]
            return str(line.split(": ", 1)[1])

        return of

    def received(self, recipient: str) -> int:
        return balance_of(self._node, token_address("USDC"), recipient)


def test_a_restore_with_payouts_in_flight_pays_none_twice_and_loses_none(installation: Installation) -> None:
    till, people = Till(installation), [f"0x{secrets.token_hex(20)}" for _ in range(4)]
    handed, ready, waiting = (till.owe(f"wage-{place}", people[place]) for place in range(3))
    assert [till.approve(payout) for payout in (handed, ready)] == ["", ""]
    assert till.hand_out(handed) == ""
    lost_from = back_up(installation)
    # The lost time: one that was handed out is paid, one that was approved, and one that nobody will know of.
    lost = till.owe("wage-3", people[3])
    assert till.approve(lost) == ""
    sent = [till.send(people[0])]
    for payout, recipient in ((ready, people[1]), (lost, people[3])):
        assert till.hand_out(payout) == ""
        sent.append(till.send(recipient))
    wait_until(lambda: till.is_paid(handed, ready, lost))
    assert f"{handed} 5.000000 USDC base" in bring_back(installation, lost_from)
    # What was sent is found on the chain, whoever had approved it.
    wait_until(lambda: till.is_paid(handed, ready))
    again = till.owe("wage-3", people[3])
    assert again != lost
    till.ask_later(again)
    wait_until(lambda: "may have paid this already" in till.approve(again))
    assert till.approve(waiting) == ""
    assert installation.clerk.ask("take_lost_outflow", payout=again) == sent[2]
    wait_until(lambda: till.hand_out(waiting) == "")
    last = till.send(people[2])
    wait_until(lambda: till.is_paid(again, waiting))
    assert [till.received(recipient) for recipient in people] == [5 * DOLLAR] * 4
    closing = till.table(lost_from)
    for payout, tx_hash in zip((handed, ready, again, waiting), (*sent, last), strict=True):
        assert closing(payout).startswith(f"paid, found as {tx_hash}")


def test_a_restore_finds_what_was_sent_unseen_and_leaves_what_was_not_sent_to_be_paid_once(
    installation: Installation,
) -> None:
    till, people = Till(installation), [f"0x{secrets.token_hex(20)}" for _ in range(4)]
    unseen, frozen, late, approved = payouts = [till.owe(f"fee-{place}", people[place]) for place in range(4)]
    assert [till.approve(payout) for payout in payouts] == [""] * 4
    assert [till.hand_out(payout) for payout in (unseen, frozen, late)] == [""] * 3
    # It is on the chain when the backup is taken, and nobody reads the chain.
    installation.kill(installation.the("watcher"))
    sent = [till.send(people[0])]
    assert not till.has_seen(sent[0])
    lost_from = back_up(installation)
    # The lost time: one more is paid, and both are seen.
    sent.append(till.send(people[2]))
    wait_until(lambda: till.is_paid(unseen, late))
    bring_back(installation, lost_from)
    wait_until(lambda: till.is_paid(unseen, late))
    # None that the chain paid is open, or can be handed out again; what it did not pay is not lost.
    told = till.table(lost_from)
    for payout, tx_hash in zip((unseen, late), sent, strict=True):
        assert told(payout).startswith(f"paid, found as {tx_hash}")
        assert "is paid" in till.approve(payout)
        assert "no longer approved" in till.hand_out(payout)
    assert told(frozen) == "was handed out, no payment found"
    assert told(approved) == "no payment found, waits for approval"
    # What was handed out before the backup is paid from that list; nothing else is made of it meanwhile.
    assert "is sending" in till.approve(frozen)
    assert "no longer approved" in till.hand_out(frozen)
    sent.append(till.send(people[1]))
    assert "no longer approved" in till.hand_out(approved)
    assert till.approve(approved) == ""
    wait_until(lambda: till.hand_out(approved) == "")
    sent.append(till.send(people[3]))
    wait_until(lambda: till.is_paid(*payouts))
    assert [till.received(recipient) for recipient in people] == [5 * DOLLAR] * 4
    closing = till.table(lost_from)
    for payout, tx_hash in zip((unseen, late, frozen, approved), sent, strict=True):
        assert closing(payout).startswith(f"paid, found as {tx_hash}")


def _what_became_of(installation: Installation) -> tuple[Any, ...]:
    """How many transfers are final, how many of them are credited, and how many wait for a person."""
    return installation.database.rows(OUTCOME)[0]
