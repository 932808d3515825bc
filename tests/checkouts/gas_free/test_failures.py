"""Payments without a fee that fail on purpose stop their payers and whom the same account funded, and not the merchant's other buyers."""

from datetime import timedelta
from decimal import Decimal
from itertools import count
from typing import Any, Protocol

import pytest
from django.test import Client
from django.utils import timezone
from eth_account import Account
from solders.keypair import Keypair

from checkouts.gas_free import co_signed
from localnet.anvil import Anvil, FundedAccount
from localnet.solana.node import Payment, SolanaNode
from localnet.tokens import mint, transfer
from settlements.gas import shares, strangers
from settlements.models import GasTransaction, SponsoredTransaction
from settlements.states import Outcome, TransactionState
from tests.checkouts.gas_free.co_signers import new_buyer, offered, pay_fees, signed
from tests.checkouts.gas_free.payers import PRICE, Payer
from tests.checkouts.page.buyers import chosen
from tests.checkouts.shop import Shop
from wallets import lookup
from wallets.chains.solana.unsigned_payment import SPONSORED_FEE

pytestmark = pytest.mark.django_db

FAILURES = shares.FAILED_LEAST + 1
MONEY = 5 * PRICE
_clients = count(1)


def browser() -> Client:
    """A client from an address of its own: one address is offered five payments a minute."""
    number = next(_clients)
    return Client(REMOTE_ADDR=f"10.9.{number // 250}.{number % 250 + 1}")


class Ledger(Protocol):
    """A chain, a shop on it, and what its ledger says of payments."""

    chain: str
    # The base units of the chain's coin, and how many shares of a tenth a day of `GAS_DAILY_COINS` has.
    coin: int
    parts: int

    def funder(self) -> Any:
        """An account with tokens."""

    def payer(self, funder: Any) -> Any:
        """An account that this one sent tokens to."""

    def pay(self, payer: Any) -> bool:
        """Pay a checkout without a fee; whether it was sent."""

    def end(self, payer: Any, outcome: Outcome, **values: Any) -> None:
        """Say what a payer's newest payment came to."""

    def cost(self) -> int:
        """What each payment cost us."""


class OnBase:
    """A chain with gas accounts, where wallets sign transfers."""

    chain, coin, parts = "base", 10**18, 10

    def __init__(self, node: Anvil, usdc: str, shop: Shop) -> None:
        self._node, self._usdc, self._shop = node, usdc, shop
        self._funders = iter(node.accounts[8:])
        self._costs: dict[str, int] = {}

    def funder(self) -> FundedAccount:
        account = next(self._funders)
        mint(self._node, self._usdc, account.address, 100 * PRICE)
        return account

    def payer(self, funder: FundedAccount) -> Payer:
        made = Account.create()
        transfer(self._node, funder, self._usdc, made.address, MONEY)
        return Payer(made.address, made.key.hex())

    def pay(self, payer: Payer) -> bool:
        client, checkout = browser(), self._shop.checkout()
        offer = payer.offered(client, checkout)
        return bool(offer.status_code == 200 and payer.signed(client, checkout, offer.json()).status_code == 200)

    def end(self, payer: Payer, outcome: Outcome, **values: Any) -> None:
        newest = GasTransaction.objects.filter(payer=payer.address).order_by("-pk")[:1]
        rows = GasTransaction.objects.filter(pk__in=list(newest.values_list("pk", flat=True)))
        is_done = outcome == Outcome.DONE
        rows.update(outcome=outcome, succeeded=is_done, state=TransactionState.MINED, **self._costs, **values)

    def cost(self) -> int:
        most = int(GasTransaction.objects.latest("id").most_wei)
        # All cost the same, also those that come when gas is cheaper.
        self._costs = {"cost_wei": most}
        GasTransaction.objects.update(**self._costs)
        return most


class OnSolana:
    """A chain where our account pays the fee of the wallet's own transaction: buyers have half of its day."""

    chain, coin, parts = "solana", 10**9, 20

    def __init__(self, node: SolanaNode, shop: Shop) -> None:
        self._node, self._shop = node, shop

    def funder(self) -> Keypair:
        made = new_buyer(self._node, 100 * PRICE)
        self._node.airdrop(str(made.pubkey()))
        return made

    def payer(self, funder: Keypair) -> Keypair:
        made = Keypair()
        self._node.pay_all([Payment(str(made.pubkey()), MONEY)], payer=funder)
        return made

    def pay(self, payer: Keypair) -> bool:
        client, checkout = browser(), chosen(self._shop)
        offer = offered(client, checkout, payer)
        return bool(offer.status_code == 200 and signed(client, checkout, offer.json(), payer).status_code == 200)

    def end(self, payer: Keypair, outcome: Outcome, **values: Any) -> None:
        newest = SponsoredTransaction.objects.filter(payer=str(payer.pubkey())).order_by("-pk")[:1]
        rows = SponsoredTransaction.objects.filter(pk__in=list(newest.values_list("pk", flat=True)))
        rows.update(outcome=outcome, **values)

    def cost(self) -> int:
        return SPONSORED_FEE


@pytest.fixture(params=["base", "solana"])
def ledger(request: pytest.FixtureRequest, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """A shop on one chain where the operator pays buyers' fees; no sum of a day and no funder is remembered."""
    monkeypatch.setattr(shares, "_of_a_day", shares._of_a_day.__wrapped__)
    # Else the limit of the chain's nodes comes first.
    monkeypatch.setattr(lookup, "_LEAST_A_MINUTE", 10_000)
    strangers._funders.clear()
    if request.param == "base":
        shop = request.getfixturevalue("free_shop")
        return OnBase(request.getfixturevalue("base_node"), request.getfixturevalue("usdc"), shop)
    shop, node = request.getfixturevalue("solana_shop"), request.getfixturevalue("solana_node")
    settings.GAS_FREE = ["solana"]
    pay_fees(node, settings, shop.address)
    co_signed._desks._kept.clear()
    return OnSolana(node, shop)


def let_fail(ledger: Ledger, attacker: Any, settings: Any) -> list[Any]:
    """Let payments of several accounts of one attacker fail, which costs little of a day's share and too much at once."""
    failing = [ledger.payer(attacker) for _ in range(FAILURES)]
    for payer in failing:
        assert ledger.pay(payer)
        ledger.end(payer, Outcome.FAILED)
    share = 100 * ledger.cost()
    settings.GAS_MERCHANT_SHARE = "0.1"
    settings.GAS_DAILY_COINS = {ledger.chain: f"{Decimal(ledger.parts * share) / ledger.coin:f}"}
    return failing


def test_failures_stop_their_payers_and_whom_the_same_account_funded(ledger: Ledger, settings: Any) -> None:
    attacker, other = ledger.funder(), ledger.funder()
    known, fresh = ledger.payer(attacker), ledger.payer(attacker)
    assert ledger.pay(known)
    ledger.end(known, Outcome.DONE, created_at=timezone.now() - shares.WINDOW - timedelta(seconds=1))
    failing = let_fail(ledger, attacker, settings)
    assert not ledger.pay(failing[0])
    assert not ledger.pay(fresh)
    # Other payers, and one who paid before, go on.
    assert ledger.pay(ledger.payer(other))
    assert ledger.pay(known)


def test_failures_of_known_payers_cost_a_quarter_of_the_share_at_most(ledger: Ledger, settings: Any) -> None:
    attacker = ledger.funder()
    known = ledger.payer(attacker)
    assert ledger.pay(known)
    ledger.end(known, Outcome.DONE, created_at=timezone.now() - shares.WINDOW - timedelta(seconds=1))
    let_fail(ledger, attacker, settings)
    assert ledger.pay(known)
    ledger.end(known, Outcome.FAILED)
    # The share was the cost of a hundred payments. One is less than a quarter of four and a half, and more than that of three and a half.
    settings.GAS_MERCHANT_SHARE = "0.0045"
    assert ledger.pay(known)
    ledger.end(known, Outcome.DONE)
    settings.GAS_MERCHANT_SHARE = "0.0035"
    assert not ledger.pay(known)


def test_once_failures_cost_half_of_the_share_all_who_are_new_wait(ledger: Ledger, settings: Any) -> None:
    attacker, other = ledger.funder(), ledger.funder()
    known, new = ledger.payer(other), ledger.payer(other)
    assert ledger.pay(known)
    ledger.end(known, Outcome.DONE, created_at=timezone.now() - shares.WINDOW - timedelta(seconds=1))
    let_fail(ledger, attacker, settings)
    # Five of nine payments' cost is more than half. No known payer failed.
    settings.GAS_MERCHANT_SHARE = "0.009"
    assert not ledger.pay(new)
    assert ledger.pay(known)
