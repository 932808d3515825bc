"""The oracle of the fault tests sees what it is there to see."""

from dataclasses import replace

import pytest

from tests.faults.accountinstallation import AccountInstallation
from tests.faults.oracle import audit, settle
from tests.installation import DOLLAR, Installation

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

LAST = "(SELECT max(id) FROM wallets_transfer)"
TAMPERED = {
    "a payment is missing": (
        f"DELETE FROM checkouts_payment WHERE transfer_id = {LAST}",
        ["credited 0 times, claimed 1 times", "neither credited nor in an inbox"],
    ),
    "a payment is there twice": (
        f"""ALTER TABLE checkouts_payment DROP CONSTRAINT checkouts_payment_transfer_id_key;
        INSERT INTO checkouts_payment (checkout_id, transfer_id, reason, credited_at)
        SELECT checkout_id, transfer_id, reason, credited_at FROM checkouts_payment WHERE transfer_id = {LAST}""",
        ["credited 2 times", "says it received"],
    ),
    "a transfer was made up": (
        f"UPDATE wallets_transfer SET tx_hash = '0xfeed' WHERE id = {LAST}",
        ["on chain and not recorded (1)", "recorded and not on chain (1)"],
    ),
    "an amount is wrong": (
        f"UPDATE wallets_transfer SET units = units + 1 WHERE id = {LAST}",
        ["recorded and not on chain (1)", "says it received"],
    ),
    "a transfer stays unconfirmed": (
        f"UPDATE wallets_transfer SET state = 'detected', confirmed_at = NULL WHERE id = {LAST}",
        ["is final on chain and detected here", "should be processing"],
    ),
    "a transfer waits": (
        f"UPDATE wallets_transfer SET queued_at = now() WHERE id = {LAST}",
        ["waits to be dealt with"],
    ),
    "a status is wrong": (
        "UPDATE checkouts_checkout SET status = 'processing' WHERE status = 'underpaid'",
        ["is processing and should be underpaid", "the kept counts are"],
    ),
    "an event was never written": (
        """UPDATE webhooks_event SET sequence = sequence + 1000000, type = 'checkout.expired'
        WHERE type = 'checkout.completed'""",
        ["the events are numbered", "was told completed 0 times"],
    ),
    "an event has another body": ("UPDATE webhooks_event SET body = '{}'", ["a body arrived that is not event"]),
    "a delivery gave up": ("UPDATE webhooks_delivery SET status = 'failed'", ["is failed after 1 tries"]),
    "the counter ran ahead": ("UPDATE webhooks_eventcounter SET value = value + 1", ["the event counter stands at"]),
}


@pytest.fixture
def paid(installation: Installation) -> Installation:
    """An installation with a completed and an underpaid checkout."""
    short, full = installation.create_checkouts(2)
    installation.pay(short, 4 * DOLLAR)
    installation.pay(full)
    settle(installation)
    return installation


def test_the_oracle_sees_what_was_tampered_with(paid: Installation) -> None:
    for name, (change, expected) in TAMPERED.items():
        with paid.database.connection.transaction(force_rollback=True):
            paid.database.rows(change)
            found = "\n".join(audit(paid))
            assert all(words in found for words in expected), f"{name}: {found}"
        assert list(audit(paid)) == []


def test_the_oracle_sees_what_did_not_arrive_as_it_was_sent(paid: Installation) -> None:
    got = paid.receiver.got
    last = got.pop()
    assert any("never arrived" in problem for problem in audit(paid))
    forged = dict(last.headers) | {"webhook-signature": "v1,AAAA"}
    got.append(replace(last, headers=forged))
    assert any("bad signature" in problem for problem in audit(paid))
    got[-1] = replace(last, body=last.body.replace(b"checkout", b"Checkout"))
    assert any("that is not event" in problem for problem in audit(paid))
    got[-1] = last
    assert list(audit(paid)) == []


SWAP = """
    UPDATE checkouts_payment SET checkout_id = (SELECT id FROM checkouts_checkout WHERE public_id = %s)
    WHERE transfer_id = (SELECT id FROM wallets_transfer WHERE tx_hash = %s)
"""


def test_the_oracle_sees_a_payment_that_is_credited_to_another_checkout(accounts: AccountInstallation) -> None:
    one, other = accounts.pay_new()
    settle(accounts)
    with accounts.database.connection.transaction(force_rollback=True):
        accounts.database.rows(SWAP, other.due.public_id, one.tx)
        assert any("was meant for" in problem for problem in audit(accounts))
    assert list(audit(accounts)) == []
