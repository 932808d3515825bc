"""Deliberate failures stop those who belong to the payers that failed, and not the merchant's other payers.

On every chain where we pay the network for a payer."""

from datetime import timedelta
from decimal import Decimal
from typing import Any, Protocol

import pytest
from django.utils import timezone
from eth_account import Account
from solders.keypair import Keypair

from localnet.anvil import Anvil, FundedAccount
from localnet.authorizations import authorize
from localnet.solana.node import Payment
from localnet.tokens import mint, transfer
from settlements.gas import shares, strangers
from settlements.models import GasTransaction
from settlements.states import Outcome
from tests.contract.client import ApiClient
from tests.exhaustive import sample
from tests.x402.exact.bodies import NAMES, body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.shop import connect_evm, open_shop
from tests.x402.exact.solana import payers
from tests.x402.exact.solana.payers import connect_solana, open_seller
from tests.x402.payers import pay_to_of
from x402.models import Authorization, X402Payment
from x402.states import AuthorizationState

pytestmark = pytest.mark.django_db

FAILURES = 8
UNITS = payers.UNITS
NOT_SENT = "unexpected_settle_error"


class Rail(Protocol):
    """A chain, a merchant on it, and accounts that pay it."""

    chain: str
    coin: int
    seller: ApiClient

    def funder(self) -> Any:
        """An account with tokens, which nobody sent it."""

    def payer(self, funder: Any) -> Any:
        """An account that this one sent tokens to."""

    def body(self, payer: Any) -> dict[str, Any]:
        """A payment of it."""

    def settle(self, body: dict[str, Any]) -> bool:
        """Settle a payment."""

    def cost(self) -> int:
        """What each payment cost us."""


class OnEvm:
    """One of the EVM chains."""

    coin = 10**18

    def __init__(self, node: Anvil, settings: Any) -> None:
        self._node, self.chain = node, NAMES[node.chain_id]
        self._usdc = connect_evm(settings, node, self.chain)
        self._funders = iter(node.accounts[6:])
        self.seller = open_shop(self.chain)

    def funder(self) -> FundedAccount:
        account = next(self._funders)
        mint(self._node, self._usdc, account.address, 1_000 * UNITS)
        return account

    def payer(self, funder: FundedAccount) -> FundedAccount:
        made = Account.create()
        transfer(self._node, funder, self._usdc, made.address, 2 * FAILURES * UNITS)
        return FundedAccount(made.address, made.key.hex())

    def body(self, payer: FundedAccount) -> dict[str, Any]:
        told = authorize(self._node, pay_to_of(self.seller, self.chain), UNITS, account=payer)
        return body_of(told, self._usdc, chain_id=self._node.chain_id)

    def settle(self, body: dict[str, Any]) -> bool:
        return bool(settle(self.seller, body)["success"])

    def cost(self) -> int:
        most = int(GasTransaction.objects.latest("id").most_wei)
        GasTransaction.objects.update(cost_wei=most)
        return most


class OnSolana:
    """Solana."""

    chain = "solana"
    coin = 10**9

    def __init__(self, shop: payers.Shop) -> None:
        self._shop = shop
        self.seller = open_seller(shop)

    def funder(self) -> Keypair:
        made = Keypair()
        self._shop.node.airdrop(str(made.pubkey()))
        self._shop.node.fund(str(made.pubkey()), 1_000 * UNITS)
        return made

    def payer(self, funder: Keypair) -> Keypair:
        made = Keypair()
        self._shop.node.pay_all([Payment(str(made.pubkey()), 2 * FAILURES * UNITS)], payer=funder)
        return made

    def body(self, payer: Keypair) -> dict[str, Any]:
        return self._shop.body(self._shop.draft(payer=payer).signed())

    def settle(self, body: dict[str, Any]) -> bool:
        with payers.ticking(self._shop.node):
            return bool(settle(self.seller, body)["success"])

    def cost(self) -> int:
        fees = Authorization.objects.filter(network_fee__isnull=False).values_list("network_fee", flat=True)
        return max(fee for fee in fees if fee)


# One of anvil's and Solana by day: the chains between differ by their ids alone.
@pytest.fixture(params=sample(["base", "polygon", "ethereum", "solana"], 2))
def rail(request: pytest.FixtureRequest, settings: Any) -> Rail:
    if request.param != "solana":
        return OnEvm(request.getfixturevalue(f"{request.param}_node"), settings)
    return OnSolana(connect_solana(settings, request.getfixturevalue("solana_node")))


def pay(rail: Rail, payer: Any) -> bool:
    """Verify and settle; both must say the same."""
    body = rail.body(payer)
    is_valid = bool(verify(rail.seller, body)["isValid"])
    assert rail.settle(body) is is_valid
    return is_valid


def fail(rail: Rail, *failing: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let these payments fail at our cost, which is more than strangers' failures may cost at once, and little of a day's share."""
    for payer in failing:
        assert rail.settle(rail.body(payer))
    Authorization.objects.update(state=AuthorizationState.FAILED)
    GasTransaction.objects.update(outcome=Outcome.FAILED)
    monkeypatch.setattr(shares, "_of_a_day", shares._of_a_day.__wrapped__)
    strangers._funders.clear()
    share = 100 * rail.cost()
    settings.GAS_MERCHANT_SHARE = "0.1"
    settings.GAS_DAILY_COINS = {rail.chain: f"{Decimal(10 * share) / rail.coin:f}"}


@pytest.mark.parametrize("is_one_payer", [True, False], ids=["one payer", "many payers"])
def test_failures_stop_their_payers_and_whom_the_same_account_funded(
    rail: Rail, settings: Any, monkeypatch: pytest.MonkeyPatch, is_one_payer: bool
) -> None:
    attacker, other = rail.funder(), rail.funder()
    failing = [rail.payer(attacker)] * FAILURES if is_one_payer else [rail.payer(attacker) for _ in range(FAILURES)]
    known = rail.payer(attacker)
    assert pay(rail, known)
    X402Payment.objects.update(verified_at=timezone.now() - shares.WINDOW - timedelta(seconds=1))
    fail(rail, *failing, settings=settings, monkeypatch=monkeypatch)
    assert not pay(rail, failing[0])
    assert not pay(rail, rail.payer(attacker))
    # Other payers, and one who paid before, go on.
    assert pay(rail, rail.payer(other))
    assert pay(rail, other)
    assert pay(rail, known)
    # Failures of such payers are bounded too.
    settings.GAS_MERCHANT_SHARE = "0.006"
    failed = Authorization.objects.filter(payer=Authorization.objects.latest("pk").payer)
    made = list(failed.values_list("transaction", flat=True))
    GasTransaction.objects.filter(pk__in=made).update(outcome=Outcome.FAILED)
    failed.update(state=AuthorizationState.FAILED, created_at=timezone.now() - timedelta(minutes=5))
    assert not pay(rail, known)
