"""Payments that nobody rang for are looked at again."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from localnet.abi import encode_call
from localnet.anvil import Anvil
from localnet.authorizations import lay_usdc
from tests.nodes.forwarders import FLUSH, NATIVE_COIN
from tests.x402.recorded import UNITS, make_seller
from wallets.models import ChainCursor
from webhooks.models import Event
from x402.models import X402Payment
from x402.payments.rechecks import PATIENCE, recheck_payments

pytestmark = pytest.mark.django_db


SOON = timedelta(seconds=30)


@pytest.fixture
def unrecorded(owned_merchant: Merchant, settings: Any) -> X402Payment:
    """Verified by what a node told, and never recorded by the watcher that read past it."""
    to = make_seller(owned_merchant, settings)
    now = timezone.now()
    return X402Payment.objects.create(
        merchant=owned_merchant,
        mode="live",
        protocol="hash",
        chain="base",
        tx_hash="0x" + "5a" * 32,
        position=0,
        token="USDC",
        units=UNITS,
        required_units=UNITS,
        payer=to,
        pay_to=to,
        block_height=900,
        block_time=now,
        verified_at=now,
    )


def recheck(payment: X402Payment, after: timedelta) -> str:
    recheck_payments(now=payment.verified_at + after)
    payment.refresh_from_db()
    return payment.status


def test_what_no_watcher_ever_records_is_reversed(unrecorded: X402Payment) -> None:
    """A node that lies must not give resources away for ever. Where none answers, the watcher is waited for."""
    assert recheck(unrecorded, SOON) == "verified"
    assert recheck(unrecorded, PATIENCE) == "verified"
    assert recheck(unrecorded, PATIENCE + SOON) == "reversed"
    assert Event.objects.get().type == "x402.payment.reversed"


def test_what_no_node_knows_any_more_is_reversed_at_once(
    unrecorded: X402Payment, base_node: Anvil, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    assert recheck(unrecorded, timedelta(minutes=2)) == "reversed"


def test_what_failed_in_another_block_is_reversed_within_a_minute(
    unrecorded: X402Payment, base_node: Anvil, settings: Any
) -> None:
    """A reorg put its transaction behind another one, and the receipt says status 0."""
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": base_node.url}
    data = encode_call(FLUSH, base_node.accounts[1].address, b"\0" * 32, NATIVE_COIN)
    failed = base_node.send(base_node.accounts[1], to=lay_usdc(base_node), data=data, gas=100_000)
    assert base_node.receipt(failed)["status"] == "0x0"
    X402Payment.objects.update(tx_hash=failed)
    assert recheck(unrecorded, SOON) == "reversed"
    assert Event.objects.get().type == "x402.payment.reversed"


@pytest.mark.parametrize(
    "cursor",
    [{"height": 905}, {"first_height": 950}, {"halted_reason": "somebody looks"}],
    ids=["not far enough", "begun later", "halted"],
)
def test_a_watcher_that_could_not_have_read_it_says_nothing(unrecorded: X402Payment, cursor: dict[str, Any]) -> None:
    ChainCursor.objects.update(**cursor)
    assert recheck(unrecorded, 4 * PATIENCE) == "verified"
