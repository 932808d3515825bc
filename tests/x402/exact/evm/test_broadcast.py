"""How authorisations are sent."""

import pytest
from django.utils import timezone

from demo.localnet.anvil import Anvil
from demo.localnet.authorizations import authorize
from settlements.models import GasTransaction
from settlements.states import TransactionState
from tests.contract.client import ApiClient
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle
from tests.x402.payers import pay_to_of
from x402.exact import (
    sweep,
    waiters,
)
from x402.exact.authorizations import LEASE
from x402.exact.evm.broadcast import reference_of
from x402.models import Authorization

pytestmark = pytest.mark.django_db


UNITS = 10_000


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiters, "RECEIPT_SECONDS", 0.05)


def left_lying(node: Anvil, seller: ApiClient, usdc: str) -> Authorization:
    """One whose transaction is in no block, and whose request gave up."""
    node.set_automine(False)
    body = body_of(authorize(node, pay_to_of(seller), UNITS), usdc)
    assert settle(seller, body)["errorReason"] == "settlement_pending"
    return Authorization.objects.latest("pk")


def finish() -> None:
    sweep.finish_open(clock=lambda: timezone.now() + 2 * LEASE)


def test_those_that_wait_do_not_keep_others_from_their_end(
    base_node: Anvil, seller: ApiClient, usdc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = left_lying(base_node, seller, usdc)
    other = left_lying(base_node, seller, usdc)
    GasTransaction.objects.filter(reference=reference_of(other)).update(
        state=TransactionState.DROPPED
    )
    monkeypatch.setattr(sweep, "_AT_ONCE", 1)
    finish()
    finish()
    states = [Authorization.objects.get(pk=one.pk).state for one in (stuck, other)]
    assert states == ["sent", "failed"]
