"""One Solana transaction that pays a merchant several times: each transfer pays what it is for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from solders.keypair import Keypair

from accounts.audit.actors import Actor
from checkouts.attribution.queue import attribute_transfers
from checkouts.models import Checkout, InboxItem
from localnet.solana.node import USDC, Payment, SolanaNode
from tests.checkouts.arrivals import exact, reference_of, reserve
from tests.factories import make_checkout, make_user
from tests.wallets.accountchains import OnSolana, make_expected, open_account_watcher, read_all
from wallets.models import AccountCursor, Transfer
from wallets.receiving.service import set_machine_wallet
from wallets.watchers.accounts import AccountWatcher

pytestmark = pytest.mark.django_db


@dataclass
class Shop:
    """A merchant with a wallet on Solana, which is read and attributed as in production."""

    node: SolanaNode
    watcher: AccountWatcher

    def __post_init__(self) -> None:
        self.address = str(Keypair().pubkey())
        wallet = make_expected(OnSolana(self.node), self.address)
        self.merchant = wallet.merchant

    def checkout(self, price: str, suffix: int) -> Checkout:
        now = timezone.now()
        offer = {"tokens": ["USDC"], "address": None, "wallet": self.address}
        made = make_checkout(
            self.merchant,
            amount=Decimal(price),
            offers={"solana": offer},
            created_at=now - timedelta(minutes=5),
            expires_at=now + timedelta(minutes=25),
        )
        reserve(made, suffix)
        return made

    def is_paid(self, *payments: Payment) -> None:
        """All in one transaction."""
        self.node.pay_all(payments)
        self.node.advance(2)
        AccountCursor.objects.update(read_at=None)
        read_all(self.watcher)
        attribute_transfers(now=timezone.now())


@pytest.fixture
def shop(solana_node: SolanaNode) -> Iterator[Shop]:
    watcher = open_account_watcher(OnSolana(solana_node))
    made = Shop(solana_node, watcher)
    read_all(watcher)
    yield made
    watcher.close()


Pays = Callable[[Shop, Checkout], Payment]


def by_amount(shop: Shop, checkout: Checkout) -> Payment:
    return Payment(shop.address, exact(checkout))


def by_reference(shop: Shop, checkout: Checkout) -> Payment:
    price = int(checkout.amount * 10**6)
    return Payment(shop.address, price, USDC, [reference_of(checkout)])


def round_price(shop: Shop, checkout: Checkout) -> Payment:
    return Payment(shop.address, int(checkout.amount * 10**6))


WAYS: dict[str, tuple[Pays, Pays, str]] = {
    "both by their exact amounts": (by_amount, by_amount, "41.00"),
    "both by their references": (by_reference, by_reference, "41.00"),
    "one by each": (by_reference, by_amount, "41.00"),
    "equal amounts by their references": (by_reference, by_reference, "42.00"),
    "exact amounts at one price": (by_amount, by_amount, "42.00"),
    "the round price and an exact amount": (round_price, by_amount, "41.00"),
}


@pytest.mark.parametrize(("one", "two", "price"), WAYS.values(), ids=WAYS)
def test_two_checkouts_paid_by_one_transaction_are_both_paid(shop: Shop, one: Pays, two: Pays, price: str) -> None:
    first, second = shop.checkout("42.00", 1_000), shop.checkout(price, 1_700)
    shop.is_paid(one(shop, first), two(shop, second))
    for each in (first, second):
        each.refresh_from_db()
        assert each.status == "completed"
        assert each.payments.count() == 1
    assert not InboxItem.objects.exists()


def test_one_transaction_pays_a_checkout_and_the_machines(shop: Shop) -> None:
    machines, actor = str(Keypair().pubkey()), make_user()
    now = timezone.now()
    set_machine_wallet(shop.merchant, chain="solana", address=machines, actor=Actor(actor), now=now)
    read_all(shop.watcher)
    checkout = shop.checkout("42.00", 1_000)
    shop.is_paid(by_amount(shop, checkout), Payment(machines, 10_000))
    checkout.refresh_from_db()
    assert checkout.status == "completed"
    told = Transfer.objects.values_list("purpose", "units").order_by("units")
    assert list(told) == [("x402", 10_000), ("checkout", 42_001_000)]


def test_two_merchants_are_each_paid_their_own(shop: Shop) -> None:
    other = Shop(shop.node, shop.watcher)
    read_all(shop.watcher)
    first, second = shop.checkout("42.00", 1_000), other.checkout("42.00", 1_000)
    shop.is_paid(by_amount(shop, first), by_amount(other, second))
    for each in (first, second):
        each.refresh_from_db()
        assert each.status == "completed"
