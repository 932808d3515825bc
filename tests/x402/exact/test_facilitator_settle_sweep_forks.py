"""Payments by signature that a reorganisation takes, and that are made again by another transaction."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Sum
from django.test import Client
from django.utils import timezone

from accounts.models import FeeEntry
from florin.receipts import x402_status_path
from localnet.anvil import Anvil
from localnet.authorizations import Authorization as Signed
from localnet.authorizations import authorize
from settlements.gas.node import gas_node
from settlements.gas.upkeep import tend
from tests.contract.client import ApiClient
from tests.wallets.factories import make_watcher, read_all
from tests.x402.calls import verdict
from tests.x402.exact.bodies import RESOURCE, body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.payers import claim_of, pay_to_of
from wallets.models import Transfer, TransferClaim
from wallets.states import TransferState
from wallets.transfers.returns import ReturnChange, change_returns, reserve_returns
from wallets.watchers.blocks import Watcher
from webhooks.models import Event
from x402.exact import facilitator, waiting
from x402.exact.authorizations import LEASE
from x402.models import Authorization, X402Payment
from x402.payments.transfers import follow_transfers
from x402.states import AuthorizationState, PaymentStatus

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_bells")]
UNITS = 10_000_000
USED = "invalid_exact_evm_nonce_already_used"


@pytest.fixture
def told(base_node: Anvil, exact_seller: ApiClient) -> Signed:
    """What a payer signed."""
    return authorize(base_node, pay_to_of(exact_seller), UNITS)


@pytest.fixture
def watcher(base_node: Anvil, usdc: str) -> Watcher:
    """Reads the chain; it has read all there was before the payment."""
    base_node.mine(2)
    made = make_watcher(base_node.url, TOKEN_USDC=usdc)
    read_all(made)
    return made


def read(watcher: Watcher) -> X402Payment:
    """Read what is new, and follow it."""
    read_all(watcher)
    follow_transfers(now=timezone.now())
    return X402Payment.objects.get()


def reorganise(node: Anvil, watcher: Watcher) -> X402Payment:
    """Let the chain lose the payment, and its watcher see that."""
    assert read(watcher).transfer is not None
    node.reorg(1)
    node.mine()
    return read(watcher)


def send_again(later: timedelta) -> None:
    """Let the ledger look after what is on its way, so much later."""
    with gas_node("base") as node:
        tend("base", node=node, now=timezone.now() + later)


def finish(after: timedelta = 2 * LEASE) -> None:
    facilitator.finish_open(clock=lambda: timezone.now() + after)


def pays_more(node: Anvil, told: Signed, usdc: str) -> None:
    """Our transaction waits for too long, and is sent again for more."""
    send_again(timedelta(minutes=2))
    # The node takes a transaction a moment before it has a block for it.
    node.mine()


def is_overtaken(node: Anvil, told: Signed, usdc: str) -> None:
    """Somebody else is faster this time, so that ours fails."""
    node.receipt(node.send(node.accounts[5], to=usdc, data=told.call()))
    send_again(timedelta())
    node.mine()


@pytest.mark.parametrize("happens", [pays_more, is_overtaken])
def test_a_payment_that_another_transaction_makes_again_stands_again(
    base_node: Anvil,
    exact_seller: ApiClient,
    usdc: str,
    watcher: Watcher,
    told: Signed,
    happens: Callable[[Anvil, Signed, str], None],
) -> None:
    body = body_of(told, usdc)
    before = settle(exact_seller, body, key="one")
    assert before["success"], before
    payment = reorganise(base_node, watcher)
    assert payment.status == PaymentStatus.REVERSED
    happens(base_node, told, usdc)
    finish()
    payment.refresh_from_db()
    assert payment.status == PaymentStatus.VERIFIED
    assert payment.tx_hash != before["transaction"]
    after = settle(exact_seller, body, key="one")
    assert after == before | {"transaction": payment.tx_hash}
    assert fees_of(payment) > 0
    kinds = Event.objects.order_by("sequence").values_list("type", flat=True)
    assert list(kinds) == ["x402.payment.reversed", "x402.payment.returned"]
    base_node.mine(12)
    assert read(watcher).final_at is not None
    claim = TransferClaim.objects.get()
    assert claim.transfer.tx_hash == payment.tx_hash
    shown = claim_of(base_node, payment.tx_hash, told.to, amount="10", price="10")
    assert verdict(exact_seller, shown) == "already_used"


def status_of(token: str) -> tuple[str, str]:
    """What anybody with a receipt is told: what became of its payment, and by which transaction."""
    told = Client().get(x402_status_path(token)).json()
    return told["status"], told["transaction"]


def receipt_in(answer: dict[str, Any]) -> str:
    return str(answer["extensions"]["offer-receipt"]["info"]["receipt"]["signature"])


def test_a_reorganisation_and_a_refund_turn_the_status_of_a_receipt(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, watcher: Watcher, told: Signed
) -> None:
    body = body_of(told, usdc) | {"receiptFor": RESOURCE}
    before = settle(exact_seller, body, key="one")
    first = receipt_in(before)
    assert status_of(first) == ("paid", before["transaction"])
    assert reorganise(base_node, watcher).status == PaymentStatus.REVERSED
    assert status_of(first) == ("reversed", before["transaction"])
    pays_more(base_node, told, usdc)
    finish()
    after = settle(exact_seller, body, key="one")
    assert after["transaction"] != before["transaction"]
    # The seller's repeat has a receipt of the transaction that counts now; the first one is still known.
    assert [status_of(token) for token in (first, receipt_in(after))] == [("paid", after["transaction"])] * 2
    base_node.mine(12)
    transfer_id = read(watcher).transfer_id
    assert transfer_id is not None
    reserve_returns({transfer_id: UNITS})
    for returned, status in ((1, "partly_refunded"), (UNITS - 1, "refunded"), (-UNITS, "paid")):
        change_returns([ReturnChange(transfer_id, returned=returned)])
        assert status_of(first)[0] == status


def test_what_a_fork_took_back_before_anybody_was_served_is_waited_for(
    base_node: Anvil,
    exact_seller: ApiClient,
    usdc: str,
    watcher: Watcher,
    told: Signed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.05)
    body = body_of(told, usdc)
    settle(exact_seller, body)
    # As where the process died before it could answer.
    Authorization.objects.update(served_at=None)
    reorganise(base_node, watcher)
    base_node.set_automine(False)
    assert settle(exact_seller, body)["errorReason"] == "settlement_pending"
    assert verify(exact_seller, body)["isValid"]
    base_node.set_automine(True)
    base_node.mine()
    assert settle(exact_seller, body)["success"]
    assert settle(exact_seller, body)["errorReason"] == USED


def fees_of(payment: X402Payment) -> Decimal:
    rows = FeeEntry.objects.filter(subject_id=payment.public_id)
    return rows.aggregate(all=Sum("amount"))["all"] or Decimal(0)


def test_a_strangers_transaction_that_is_gone_may_be_followed_by_anothers(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, watcher: Watcher, told: Signed
) -> None:
    base_node.receipt(base_node.send(base_node.accounts[5], to=usdc, data=told.call()))
    assert settle(exact_seller, body_of(told, usdc))["success"]
    payment = reorganise(base_node, watcher)
    assert payment.status == PaymentStatus.REVERSED
    finish()
    assert Authorization.objects.get().state == AuthorizationState.SENT
    base_node.receipt(base_node.send(base_node.accounts[6], to=usdc, data=told.call()))
    finish()
    returned = X402Payment.objects.get()
    assert returned.status == PaymentStatus.VERIFIED
    assert returned.tx_hash != payment.tx_hash
    assert Authorization.objects.get().state == AuthorizationState.SETTLED


def test_a_payment_is_waited_for_no_longer_than_it_holds_others_back(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, watcher: Watcher, told: Signed
) -> None:
    base_node.receipt(base_node.send(base_node.accounts[5], to=usdc, data=told.call()))
    body = body_of(told, usdc)
    assert settle(exact_seller, body)["success"]
    reorganise(base_node, watcher)
    assert verify(exact_seller, body)["invalidReason"] == USED
    finish(after=timedelta(hours=3))
    assert Authorization.objects.get().state == AuthorizationState.FAILED
    assert X402Payment.objects.get().status == PaymentStatus.REVERSED
    assert not settle(exact_seller, body)["success"]


def test_the_same_transaction_in_another_block_returns_when_its_watcher_sees_it(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, watcher: Watcher, told: Signed
) -> None:
    answer = settle(exact_seller, body_of(told, usdc))
    assert reorganise(base_node, watcher).status == PaymentStatus.REVERSED
    send_again(timedelta())
    finish()
    # What a node tells may be what it has not unlearnt yet.
    assert X402Payment.objects.get().status == PaymentStatus.REVERSED
    base_node.mine()
    payment = read(watcher)
    assert (payment.status, payment.tx_hash) == ("verified", answer["transaction"])
    assert Authorization.objects.get().state == AuthorizationState.SETTLED
    assert Event.objects.count() == 2


def test_money_that_bought_something_else_meanwhile_brings_nothing_back(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, watcher: Watcher, told: Signed
) -> None:
    base_node.receipt(base_node.send(base_node.accounts[5], to=usdc, data=told.call()))
    assert settle(exact_seller, body_of(told, usdc))["success"]
    reorganise(base_node, watcher)
    tx_hash = base_node.send(base_node.accounts[6], to=usdc, data=told.call())
    base_node.mine(3)
    shown = claim_of(base_node, tx_hash, told.to, amount="10", price="10")
    assert verdict(exact_seller, shown) == "not_confirmed"
    # It is let through where an authorisation is open for too long.
    Authorization.objects.update(created_at=timezone.now() - timedelta(hours=3))
    assert verdict(exact_seller, shown) == "valid"
    finish()
    states: dict[str, Any] = dict(X402Payment.objects.values_list("protocol", "status"))
    assert states == {"exact": "reversed", "hash": "verified"}
    assert Authorization.objects.get().state == AuthorizationState.FAILED
    orphaned = Transfer.objects.get(state=TransferState.ORPHANED)
    assert orphaned.tx_hash != tx_hash
