"""A buyer who signs for two chains pays once: a checkout has one payment without a fee at a time, on whichever chain."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from solders.keypair import Keypair

from checkouts.gas_free import co_signed
from checkouts.models import Checkout
from localnet.anvil import Anvil
from localnet.solana.node import SolanaNode
from settlements.models import GasTransaction, SponsoredTransaction
from settlements.states import Outcome, TransactionState
from tests.checkouts.gas_free.co_signers import new_buyer, offered, pay_fees, signed
from tests.checkouts.gas_free.payers import Payer, new_payer
from tests.checkouts.page.buyers import chosen, error_of
from tests.checkouts.shop import Shop
from tests.factories import make_wallet
from tests.wallets.factories import read_all
from wallets.chains.registry import open_pool
from wallets.networks import chain_spec
from wallets.selectors import forget
from wallets.watcher_process import open_watcher

pytestmark = pytest.mark.django_db

UNAVAILABLE = ("gas_free_unavailable", None)
PENDING = ("payment_pending", None)


class Buyer:
    """One person with an account on each chain, and the money there."""

    def __init__(self, client: Client, on_base: Payer, on_solana: Keypair) -> None:
        self.client, self.on_base, self.on_solana = client, on_base, on_solana

    def offers(self, checkout: Checkout) -> dict[str, Any]:
        """The answers of both chains to the question what to sign."""
        return {
            "base": self.on_base.offered(self.client, checkout),
            "solana": offered(self.client, checkout, self.on_solana),
        }

    def sign(self, checkout: Checkout, chain: str, offer: Any) -> Any:
        """Sign what was offered on a chain, and give it back."""
        if chain == "base":
            return self.on_base.signed(self.client, checkout, offer.json())
        return signed(self.client, checkout, offer.json(), self.on_solana)


@pytest.fixture
def shop(free_shop: Shop, solana_node: SolanaNode, settings: Any) -> Iterator[Shop]:
    """A shop that is paid on both chains, where the operator pays buyers' fees."""
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"SOLANA_RPC_URLS": solana_node.url}
    settings.GAS_FREE = ["base", "solana"]
    co_signed._desks._kept.clear()
    address = str(Keypair().pubkey())
    pay_fees(solana_node, settings, address)
    make_wallet(free_shop.merchant, "solana", address)
    spec = chain_spec("solana")
    watcher = open_watcher(spec, open_pool(spec), owner="two")
    read_all(watcher)
    forget()
    yield free_shop
    watcher.close()


@pytest.fixture
def buyer(client: Client, base_node: Anvil, usdc: str, solana_node: SolanaNode) -> Buyer:
    """A buyer with USDC on both chains, and no coin for a fee on either."""
    return Buyer(client, new_payer(base_node, usdc, 26_000_000), new_buyer(solana_node))


def sent() -> int:
    return GasTransaction.objects.count() + SponsoredTransaction.objects.count()


@pytest.mark.parametrize(("first", "second"), [("base", "solana"), ("solana", "base")])
def test_what_is_signed_for_a_second_chain_is_not_sent(shop: Shop, buyer: Buyer, first: str, second: str) -> None:
    checkout = chosen(shop)
    offers = buyer.offers(checkout)
    assert buyer.sign(checkout, first, offers[first]).status_code == 200
    assert error_of(buyer.sign(checkout, second, offers[second]), 409) == PENDING
    # And nothing more is offered to be signed.
    assert [error_of(offer, 409) for offer in buyer.offers(checkout).values()] == [PENDING, PENDING]
    # A repeat of the first answers the same transaction.
    assert buyer.sign(checkout, first, offers[first]).status_code == 200
    assert sent() == 1


def test_after_one_that_failed_on_solana_another_chain_may_pay(shop: Shop, buyer: Buyer) -> None:
    checkout = chosen(shop)
    offers = buyer.offers(checkout)
    assert buyer.sign(checkout, "solana", offers["solana"]).status_code == 200
    SponsoredTransaction.objects.update(outcome=Outcome.FAILED)
    assert buyer.sign(checkout, "base", offers["base"]).status_code == 200
    assert sent() == 2


def test_what_failed_on_an_evm_chain_holds_the_checkout_until_its_signature_is_over(shop: Shop, buyer: Buyer) -> None:
    """Until then anybody may send it once more."""
    checkout = chosen(shop)
    offers = buyer.offers(checkout)
    assert buyer.sign(checkout, "base", offers["base"]).status_code == 200
    failed: dict[str, Any] = {"state": TransactionState.MINED, "succeeded": False, "outcome": Outcome.FAILED}
    GasTransaction.objects.update(**failed)
    assert error_of(buyer.sign(checkout, "solana", offers["solana"]), 409) == UNAVAILABLE
    assert error_of(buyer.offers(checkout)["base"], 409) == UNAVAILABLE
    GasTransaction.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert buyer.sign(checkout, "solana", offers["solana"]).status_code == 200
    assert sent() == 2
