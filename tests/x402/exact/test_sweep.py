"""Authorisations that nobody asks about any more are ended, whatever became of their transactions."""

from typing import Any

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from demo.localnet.authorizations import authorize
from settlements.models import GasTransaction
from settlements.states import Purpose, TransactionState
from tests.contract.client import ApiClient
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle
from tests.x402.payers import pay_to_of
from x402.exact import sweep
from x402.exact.authorizations import LEASE
from x402.models import Authorization, X402Payment

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("impatient")]
UNITS = 10_000


def left_lying(node: Anvil, seller: ApiClient, usdc: str) -> Authorization:
    """One whose transaction is in no block, and whose request gave up."""
    node.set_automine(False)
    body = body_of(authorize(node, pay_to_of(seller), UNITS), usdc)
    assert settle(seller, body)["errorReason"] == "settlement_pending"
    return Authorization.objects.latest("pk")


def finish() -> None:
    sweep.finish_open(clock=lambda: timezone.now() + 2 * LEASE)


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
