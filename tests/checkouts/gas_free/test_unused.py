"""What a buyer signed and no block took: the page says so, and lets the buyer pay again. While it may still pay, nothing is said."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone
from solders.keypair import Keypair

from checkouts.gas_free import co_signed
from checkouts.lifecycle.moves import expire
from checkouts.models import Checkout
from checkouts.page.streaming.hub import read_facts
from localnet.anvil import Anvil
from localnet.solana.node import SolanaNode
from settlements.gas.node import gas_node
from settlements.gas.solana_relay import tend_sponsored
from settlements.gas.upkeep import tend
from settlements.models import GasTransaction, SponsoredTransaction
from settlements.states import Outcome, TransactionState
from tests.checkouts.gas_free.co_signers import new_buyer, offered, pay_fees, signed
from tests.checkouts.gas_free.payers import new_payer
from tests.checkouts.page.buyers import chosen
from tests.checkouts.shop import Shop
from wallets.chains.registry import open_pool
from wallets.chains.solana import sending
from wallets.models import ChainCursor
from wallets.networks import chain_spec
from wallets.selectors import forget

pytestmark = pytest.mark.django_db

HEADING = "Your signature was not used"
NOTHING = "Nothing left your wallet."
AGAIN = "Pay again, or with a usual transfer."


def said(client: Client, checkout: Checkout) -> list[str]:
    """Which of the words the checkout's page has."""
    text = client.get(f"/c/{checkout.code}").content.decode()
    return [words for words in (HEADING, NOTHING, AGAIN) if words in text]


def attempt_of(client: Client, checkout: Checkout) -> str:
    """What tells the page's script that the buyer may pay once more."""
    text = client.get(f"/c/{checkout.code}/wallets").content.decode()
    return text.partition('data-unused="')[2].partition('"')[0]


@pytest.fixture
def checkout(client: Client, free_shop: Shop, base_node: Anvil, usdc: str) -> Checkout:
    """A checkout whose buyer signed, and no block has it."""
    made, buyer = free_shop.checkout(), new_payer(base_node, usdc)
    base_node.set_automine(False)
    assert buyer.pay(client, made).status_code == 200
    return made


def test_what_is_never_mined_is_told_and_may_be_paid_again(
    client: Client, free_shop: Shop, checkout: Checkout, base_node: Anvil, usdc: str
) -> None:
    before = read_facts([checkout.pk])[checkout.pk]
    assert (said(client, checkout), attempt_of(client, checkout)) == ([], "")
    later = timezone.now() + timedelta(minutes=11)
    with gas_node("base") as node:
        tend("base", node=node, now=later)
        # It may still be mined, with the money or without.
        assert said(client, checkout) == []
        base_node.set_automine(True)
        base_node.mine(chain_spec("base").confirmations)
        tend("base", node=node, now=later)
    free_shop.watch()
    assert said(client, checkout) == [HEADING, NOTHING, AGAIN]
    assert int(attempt_of(client, checkout)) == int(GasTransaction.objects.get().created_at.timestamp())
    # Open pages learn of it.
    assert read_facts([checkout.pk])[checkout.pk] != before
    assert new_payer(base_node, usdc).pay(client, checkout).status_code == 200
    assert said(client, checkout) == []


FAILED: dict[str, Any] = {"state": TransactionState.MINED, "succeeded": False, "outcome": Outcome.FAILED}


def test_one_that_failed_is_told_once_its_signature_is_over(client: Client, checkout: Checkout) -> None:
    """Until then anybody may send it once more."""
    GasTransaction.objects.update(**FAILED)
    before = read_facts([checkout.pk])[checkout.pk]
    assert said(client, checkout) == []
    GasTransaction.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert said(client, checkout) == [HEADING, NOTHING, AGAIN]
    assert read_facts([checkout.pk])[checkout.pk] != before


@pytest.fixture
def unused(checkout: Checkout) -> Checkout:
    """A checkout of which a signature failed, and is over."""
    GasTransaction.objects.update(**FAILED, expires_at=timezone.now() - timedelta(seconds=1))
    return checkout


def test_after_its_end_a_checkout_asks_for_no_other_payment(client: Client, unused: Checkout) -> None:
    long_ago = timezone.now() - timedelta(hours=1)
    Checkout.objects.filter(pk=unused.pk).update(expires_at=long_ago)
    with transaction.atomic():
        expire(list(Checkout.objects.locked().filter(pk=unused.pk)), now=timezone.now())
    assert said(client, unused) == [HEADING, NOTHING]


def test_what_succeeded_was_withdrawn_or_is_of_a_network_that_is_not_read_is_not_told(
    client: Client, unused: Checkout, settings: Any
) -> None:
    assert said(client, unused) == [HEADING, NOTHING, AGAIN]
    GasTransaction.objects.update(outcome=Outcome.DONE)
    assert said(client, unused) == []
    # Of one that no node took the wallet's button told at once.
    GasTransaction.objects.update(outcome=Outcome.FAILED, payer="")
    assert said(client, unused) == []
    GasTransaction.objects.update(payer="0x" + "11" * 20)
    # Somebody may have sent it in time, in a block that is not read yet.
    ChainCursor.objects.update(halted_reason="another genesis block")
    forget()
    assert said(client, unused) == []
    ChainCursor.objects.update(halted_reason="")
    forget()
    assert said(client, unused) == [HEADING, NOTHING, AGAIN]
    settings.GAS_FREE = []
    assert said(client, unused) == []


def test_what_no_block_took_on_solana_is_told(
    client: Client, solana_shop: Shop, solana_node: SolanaNode, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.GAS_FREE = ["solana"]
    pay_fees(solana_node, settings, solana_shop.address)
    co_signed._desks._kept.clear()
    buyer: Keypair = new_buyer(solana_node)
    checkout = chosen(solana_shop)
    monkeypatch.setattr(sending, "send", lambda *_: None)
    assert signed(client, checkout, offered(client, checkout, buyer).json(), buyer).status_code == 200
    before = read_facts([checkout.pk])[checkout.pk]
    assert said(client, checkout) == []
    solana_node.advance(200)
    solana_node.finalize()
    pool = open_pool(chain_spec("solana"))
    try:
        assert tend_sponsored(chain_spec("solana"), pool=pool) == 0
    finally:
        pool.close()
    solana_shop.watch()
    assert SponsoredTransaction.objects.get().outcome == Outcome.FAILED
    assert said(client, checkout) == [HEADING, NOTHING, AGAIN]
    assert read_facts([checkout.pk])[checkout.pk] != before


def test_the_summary_names_the_wallets_fee_only_where_there_is_one(
    client: Client, free_shop: Shop, settings: Any
) -> None:
    page = f"/c/{free_shop.checkout().code}"
    assert "Set by your wallet" not in client.get(page).content.decode()
    button = client.get(f"{page}/wallets").content.decode()
    assert "25.00 USDC</bdi> · No network fee" in button
    settings.GAS_FREE = []
    assert "Set by your wallet" in client.get(page).content.decode()
    assert "No network fee" not in client.get(f"{page}/wallets").content.decode()
