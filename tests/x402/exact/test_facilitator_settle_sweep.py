"""Authorisations that nobody asks about any more are ended, whatever became of their transactions."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from settlements.gas import relay
from settlements.models import GasTransaction
from settlements.states import Purpose, TransactionState
from tests.contract.client import ApiClient
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle
from tests.x402.payers import pay_to_of
from x402.exact import facilitator
from x402.exact.authorizations import LEASE
from x402.exact.evm.broadcast import reference_of
from x402.exact.facilitator import settle_standard
from x402.models import Authorization, X402Payment
from x402.payments.claims import Caller

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("impatient")]
UNITS = 10_000


def left_lying(node: Anvil, seller: ApiClient, usdc: str) -> Authorization:
    """One whose transaction is in no block, and whose request gave up."""
    node.set_automine(False)
    body = body_of(authorize(node, pay_to_of(seller), UNITS), usdc)
    assert settle(seller, body)["errorReason"] == "settlement_pending"
    return Authorization.objects.latest("pk")


def finish() -> None:
    facilitator.finish_open(clock=lambda: timezone.now() + 2 * LEASE)


@pytest.mark.parametrize(
    "given_up", [{"state": TransactionState.DROPPED}, {"state": TransactionState.MINED, "purpose": Purpose.CANCEL}]
)
def test_one_whose_transaction_was_given_up_has_failed(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, given_up: dict[str, Any]
) -> None:
    row = left_lying(base_node, exact_seller, usdc)
    GasTransaction.objects.update(**given_up)
    finish()
    row.refresh_from_db()
    assert row.state == "failed"
    assert row.answer is not None
    assert row.answer["errorReason"] == "transaction_failed"
    assert not X402Payment.objects.exists()


def test_one_that_may_still_get_into_a_block_is_not_given_up(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    row = left_lying(base_node, exact_seller, usdc)
    GasTransaction.objects.update(purpose=Purpose.CANCEL, state=TransactionState.SENT)
    finish()
    row.refresh_from_db()
    assert row.state == "sent"


def test_one_that_failed_on_a_fork_and_got_through_on_another_is_a_payment(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    row = left_lying(base_node, exact_seller, usdc)
    base_node.set_automine(True)
    base_node.mine()
    # What was answered when it stood in a block that the network took back.
    refused = {"success": False, "errorReason": "transaction_failed"}
    Authorization.objects.update(state="failed", answer=refused)
    finish()
    assert not X402Payment.objects.exists()
    GasTransaction.objects.update(state=TransactionState.MINED, succeeded=True, mined_at=timezone.now())
    finish()
    row.refresh_from_db()
    assert row.state == "settled"
    assert row.payment == X402Payment.objects.get()


@pytest.mark.parametrize("others", [0, 1])
def test_an_authorisation_whose_time_ran_out_while_nodes_were_asked_is_not_sent(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    for _ in range(others):
        # The payer's balance is asked for then, which takes time too.
        left_lying(base_node, exact_seller, usdc)
    now = timezone.now()
    end = int(now.timestamp()) + 60
    told = authorize(base_node, pay_to_of(exact_seller), UNITS, valid_before=end)
    late = [False]
    ask = relay.gas_for

    def ask_slowly(*arguments: Any) -> int:
        late[0] = True
        return ask(*arguments)

    monkeypatch.setattr(relay, "gas_for", ask_slowly)
    assert exact_seller.merchant is not None
    answer = settle_standard(
        Caller(exact_seller.merchant.pk, Mode.LIVE),
        body_of(told, usdc),
        clock=lambda: now + timedelta(minutes=1) if late[0] else now,
    )
    reason = "invalid_exact_evm_payload_authorization_valid_before"
    assert (answer["success"], answer["errorReason"]) == (False, reason)
    assert GasTransaction.objects.count() == others


def test_those_that_wait_do_not_keep_others_from_their_end(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = left_lying(base_node, exact_seller, usdc)
    other = left_lying(base_node, exact_seller, usdc)
    GasTransaction.objects.filter(reference=reference_of(other)).update(state=TransactionState.DROPPED)
    monkeypatch.setattr(facilitator, "_AT_ONCE", 1)
    finish()
    finish()
    states = [Authorization.objects.get(pk=one.pk).state for one in (stuck, other)]
    assert states == ["sent", "failed"]
