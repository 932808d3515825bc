"""Escrow on a local node: what is held stays in its forwarder, and once it is released the next sweep takes it along."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit.actors import Actor
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from checkouts.attribution.queue import attribute_transfers
from checkouts.creation.forms import parse_create
from checkouts.creation.service import create_checkout
from checkouts.lifecycle.escrow import release_escrow
from checkouts.models import Checkout
from checkouts.rows import CheckoutRow
from checkouts.states import CheckoutStatus
from gateway.core.outbound import url_policy
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of, token_address
from settlements.gas.node import GasNode
from settlements.gas.upkeep import tend
from settlements.models import Hold
from settlements.sweeps.escrow import release
from settlements.sweeps.plan import WaitingFilter
from settlements.sweeps.service import resume, sweep
from tests.factories import WALLET, make_checkout, make_live_chain, make_merchant, make_user, make_wallet
from tests.wallets.factories import make_watcher, read_all
from tests.wallets.paying import transfer

pytestmark = pytest.mark.django_db
USDC = token_address("USDC")
WAITING = WaitingFilter("base", "USDC")


def make_real(merchant: Merchant, *, escrow: bool) -> CheckoutRow:
    """A checkout of 25 USD, as the API makes it."""
    body = {"amount": "25.00", "currency": "USD", "escrow": escrow}
    wanted = parse_create(body, url_policy())
    return create_checkout(merchant.pk, Mode.LIVE, wanted, now=timezone.now()).row


def pay_all(node: Anvil, *checkouts: CheckoutRow) -> None:
    """Pay checkouts, and let a watcher see it for good."""
    watcher = make_watcher(node.url)
    read_all(watcher)
    for checkout in checkouts:
        transfer(node, payer(node), USDC, checkout.offers["base"]["address"], 25_000_000)
    node.mine(6)
    read_all(watcher)
    watcher.close()
    attribute_transfers(now=timezone.now())


def test_held_money_stays_until_it_is_released_and_arrives_by_the_next_sweep(
    base_settings: Any, base_gas_node: GasNode, base_node: Anvil
) -> None:
    base_settings.CHAIN_SETTINGS |= {"BASE_TOKEN_USDC": USDC, "BASE_CONFIRMATIONS": "6"}
    base_settings.GAS_COIN_USD = {"base": "10"}
    merchant = make_merchant()
    make_wallet(merchant)
    make_live_chain("base", height=None)
    held, plain = make_real(merchant, escrow=True), make_real(merchant, escrow=False)
    pay_all(base_node, held, plain)
    assert set(Checkout.objects.values_list("status", flat=True)) == {CheckoutStatus.COMPLETED}
    before = balance_of(base_node, USDC, WALLET)

    def sweep_all() -> int:
        """Sweep; return what the merchant's wallet has got by now."""
        sweep(WAITING, node=base_gas_node, now=timezone.now())
        base_node.mine(6)
        tend("base", node=base_gas_node, now=timezone.now())
        resume("base", node=base_gas_node, now=timezone.now())
        return balance_of(base_node, USDC, WALLET) - before

    assert sweep_all() == 25_000_000
    ended = Checkout.objects.get(pk=held.id)
    assert release_escrow(ended, actor=Actor(label="key"), now=timezone.now())
    assert balance_of(base_node, USDC, WALLET) == before + 25_000_000
    assert sweep_all() == 50_000_000


def test_the_first_release_stands_and_is_told_once() -> None:
    checkout, now = make_checkout(escrow=True), timezone.now()
    person = make_user()
    by = Actor(user=person, address="192.0.2.7")
    for moment, who in ((now, by), (now + timedelta(hours=1), Actor(label="key"))):
        is_first = release(checkout.public_id, actor=who, object_id=checkout.public_id, now=moment)
        assert is_first is (who is by)
    hold = Hold.objects.get()
    assert (hold.released_at, hold.released_by) == (now, "member")
    assert hold.released_actor == person
    entry = AuditEntry.objects.get(action="escrow.released")
    assert (entry.merchant, entry.actor, entry.object_id, entry.address) == (
        checkout.merchant,
        person,
        checkout.public_id,
        "192.0.2.7",
    )


def test_what_is_not_held_cannot_be_released() -> None:
    with pytest.raises(Hold.DoesNotExist):
        release("chk_live_x", actor=Actor(), object_id="x", now=timezone.now())
