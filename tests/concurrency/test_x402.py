"""Many requests for one proof at once: one of them has it."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection

from accounts.models import FeeEntry
from accounts.states import Mode
from gateway.core.api.errors import ConflictError
from payouts.lifecycle.service import Terms, request_refund
from payouts.lifecycle.sources import Source
from tests.concurrency.races import SECONDS, behind, crew, deadlocks, holding, wait_for_waiters
from tests.factories import NOON, make_merchant
from tests.payouts.factories import BUYER
from tests.x402.recorded import make_machine_transfer, make_seller, request_for, verify_it
from wallets.models import Transfer, TransferClaim
from x402.models import KeptAnswer, X402Payment
from x402.payments.claims import Caller, read_records, use_up
from x402.payments.rechecks import recheck_payments

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

UNIQUE = """
    CREATE UNIQUE INDEX x402_proof_used_once ON x402_payment (chain, tx_hash, position) WHERE mode = 'live'
"""
# Whoever uses a payment up claims its transfer, which takes a lock on it.
LOCK_TRANSFERS = "SELECT FROM wallets_transfer FOR UPDATE"
LOCK_PAYMENTS = "LOCK TABLE x402_payment IN SHARE ROW EXCLUSIVE MODE"
FINAL: dict[str, Any] = {"state": "confirmed", "confirmed_at": NOON}


@pytest.fixture(params=[{}, FINAL], ids=["not final", "final"])
def transfer(request: pytest.FixtureRequest, settings: Any) -> Transfer:
    """Paid and recorded, for sixteen to ask about."""
    merchant = make_merchant()
    to = make_seller(merchant, settings)
    return make_machine_transfer(merchant, to, **request.param)


def answers(*keys: str, transfer: Transfer) -> list[dict[str, Any]]:
    """What sixteen requests are answered that have all been judged before any of them is committed."""
    return behind(LOCK_TRANSFERS, works=[partial(verify_it, transfer, key=key) for key in keys])


def test_of_sixteen_who_ask_for_one_proof_one_has_it(transfer: Transfer) -> None:
    told = Counter(one.get("reason", "valid") for one in answers(*[""] * 16, transfer=transfer))
    assert told == {"valid": 1, "already_used": 15}
    assert X402Payment.objects.count() == 1
    assert TransferClaim.objects.count() == FeeEntry.objects.count() == 1


def test_sixteen_different_keys_do_not_make_sixteen_payments(transfer: Transfer) -> None:
    keys = [f"key-{number}" for number in range(16)]
    told = Counter(one["valid"] for one in answers(*keys, transfer=transfer))
    assert told == {True: 1, False: 15}
    assert KeptAnswer.objects.count() == X402Payment.objects.count() == 1


def test_one_request_sent_sixteen_times_gets_sixteen_times_the_same_yes(transfer: Transfer) -> None:
    told = answers(*["order-7"] * 16, transfer=transfer)
    assert all(one["valid"] for one in told)
    assert len({one["paymentId"] for one in told}) == 1
    assert X402Payment.objects.count() == 1


def test_without_the_unique_key_and_the_claim_everybody_has_it(transfer: Transfer) -> None:
    """What the constraints are for: a check before the insert sees nothing of those beside it."""
    drop = [
        "DROP INDEX x402_proof_used_once",
        "ALTER TABLE x402_payment DROP CONSTRAINT x402_payment_transfer_id_key",
        "ALTER TABLE wallets_transferclaim DROP CONSTRAINT wallets_transferclaim_pkey",
    ]
    restore = [
        "DELETE FROM wallets_transferclaim",
        "DELETE FROM x402_payment",
        UNIQUE,
        "ALTER TABLE x402_payment ADD CONSTRAINT x402_payment_transfer_id_key UNIQUE (transfer_id)",
        "ALTER TABLE wallets_transferclaim ADD CONSTRAINT wallets_transferclaim_pkey PRIMARY KEY (transfer_id)",
    ]
    _run(drop)
    try:
        told = answers(*[""] * 16, transfer=transfer)
        assert sum(one["valid"] for one in told) > 1
    finally:
        _run(restore)


def refunded(transfer: Transfer) -> None:
    """Ask for a refund of it, as of money that paid for nothing."""
    source = Source(chain=transfer.chain, tx_hash=transfer.tx_hash, position=transfer.position)
    request_refund(transfer.merchant, mode=Mode.LIVE, source=source, terms=Terms(address=BUYER), now=NOON)


def proof_and_refund(settings: Any, *, is_refund_first: bool) -> tuple[bool, list[str]]:
    """Whether a proof pays while a refund of the same money is asked for, and what the transfer is claimed for then."""
    merchant = make_merchant()
    transfer = make_machine_transfer(merchant, make_seller(merchant, settings), **FINAL)
    works: list[Callable[[], Any]] = [partial(verify_it, transfer), partial(refunded, transfer)]
    told = behind(LOCK_TRANSFERS, works=works[::-1] if is_refund_first else works)
    answer = told[1] if is_refund_first else told[0]
    return answer["valid"], sorted(TransferClaim.objects.values_list("kind", flat=True))


@pytest.mark.parametrize("is_refund_first", [True, False])
def test_money_that_is_being_sent_back_pays_for_nothing(settings: Any, is_refund_first: bool) -> None:
    broken = deadlocks()
    valid, kinds = proof_and_refund(settings, is_refund_first=is_refund_first)
    assert (valid, kinds) == ((False, ["refund"]) if is_refund_first else (True, ["x402"]))
    assert X402Payment.objects.count() == FeeEntry.objects.count() == int(valid)
    assert deadlocks() == broken


def test_without_the_claims_key_money_that_is_being_sent_back_would_pay(settings: Any) -> None:
    _run(["ALTER TABLE wallets_transferclaim DROP CONSTRAINT wallets_transferclaim_pkey"])
    try:
        assert proof_and_refund(settings, is_refund_first=True) == (True, ["refund", "x402"])
    finally:
        key = "ALTER TABLE wallets_transferclaim ADD CONSTRAINT wallets_transferclaim_pkey PRIMARY KEY (transfer_id)"
        _run(["DELETE FROM wallets_transferclaim", key])


def _run(statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def test_one_key_for_two_payments_at_once_buys_one_of_them(settings: Any) -> None:
    merchant = make_merchant()
    to = make_seller(merchant, settings)
    two = [make_machine_transfer(merchant, to, **FINAL) for _ in range(2)]

    def ask(one: Transfer) -> str:
        try:
            return str(verify_it(one, key="k")["valid"])
        except ConflictError as error:
            return str(error.code)

    told = sorted(behind(LOCK_TRANSFERS, works=[partial(ask, one) for one in two]))
    assert told == ["True", "duplicate"]
    # The other one was not used up.
    assert X402Payment.objects.count() == 1
    left = two[1] if X402Payment.objects.get().tx_hash == two[0].tx_hash else two[0]
    assert verify_it(left)["valid"] is True


def test_a_transfer_that_something_else_claimed_meanwhile_is_used(transfer: Transfer) -> None:
    with crew() as threads, holding(LOCK_PAYMENTS):
        asked = threads.start(lambda: verify_it(transfer))
        wait_for_waiters(1)
        TransferClaim.objects.create(transfer=transfer, kind="checkout", claimed_at=NOON)
    assert asked.result(SECONDS)["reason"] == "already_used"
    assert not X402Payment.objects.exists()
    assert not FeeEntry.objects.exists()


def test_a_payment_verified_while_its_transfer_became_final_is_caught_up_on(settings: Any) -> None:
    """Whoever dealt with the transfer could not see the payment yet; the sweep does."""
    merchant = make_merchant()
    transfer = make_machine_transfer(merchant, make_seller(merchant, settings))
    caller, asked = Caller(merchant.pk, Mode.LIVE), request_for(transfer)
    [judged] = read_records(merchant.pk, asked.proof, now=NOON).facts.candidates
    Transfer.objects.update(queued_at=NOON, **FINAL)
    assert _dealt_with_elsewhere(transfer)
    assert use_up(caller, asked, judged, now=NOON)
    assert X402Payment.objects.get().final_at is None
    recheck_payments(now=NOON)
    assert X402Payment.objects.get().final_at == NOON


def _dealt_with_elsewhere(transfer: Transfer) -> int:
    """Take it off the queue, as a worker does that finds no payment of it."""
    return Transfer.objects.filter(pk=transfer.pk).update(queued_at=None)
