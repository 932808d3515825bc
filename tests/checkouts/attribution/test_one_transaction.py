"""One transaction that pays a merchant several times, on Solana and on every chain: each transfer pays what it is for."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.utils import timezone
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from accounts.audit.actors import Actor
from checkouts.attribution.queue import attribute_transfers
from checkouts.inbox.rows import SUM, item_row
from checkouts.models import Checkout, InboxItem
from localnet.solana import programs
from localnet.solana.node import USDC, Payment, SolanaNode
from tests.chains import EACH_LAB
from tests.checkouts.arrivals import exact, reference_of, reserve
from tests.factories import make_checkout, make_merchant, make_user, make_wallet
from tests.wallets.accountchains import OnSolana, make_expected, open_account_watcher, read_all
from tests.wallets.chains.solana.test_find import auxiliary_account
from tests.wallets.contract.labs import Lab, Wallet
from tests.wallets.factories import read_all as read_on
from wallets.chains.registry import open_pool
from wallets.models import AccountCursor, ReceivingWallet, Transfer
from wallets.receiving.service import set_machine_wallet
from wallets.watcher_process import open_watcher
from wallets.watchers.accounts import AccountWatcher

pytestmark = pytest.mark.django_db

SET_OWNER = b"\x06\x02\x01"
"""SetAuthority of a token account's owner, before the new one's key."""


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
        self.reads()

    def reads(self) -> None:
        """Read the chain to its head, and attribute."""
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


def test_what_the_instructions_do_not_explain_is_one_row_and_the_inbox_says_so(shop: Shop) -> None:
    """The payer pays one token account, and hands another one over with what is in it."""
    payer, mint = shop.node.payer.pubkey(), Pubkey.from_string(USDC)
    mine, its = (programs.token_account(one, mint) for one in (payer, Pubkey.from_string(shop.address)))
    shop.is_paid(Payment(shop.address, 1_000_000))
    handed = auxiliary_account(shop.node, str(payer))
    paid = [
        programs.transfer(mine, to, units, owner=payer, mint=mint, program=programs.TOKEN)
        for to, units in ((its, 3_000_000), (handed, 4_000_000))
    ]
    told = [
        AccountMeta(handed, is_signer=False, is_writable=True),
        AccountMeta(payer, is_signer=True, is_writable=False),
    ]
    shop.node.send(*paid, Instruction(programs.TOKEN, SET_OWNER + bytes(Pubkey.from_string(shop.address)), told))
    shop.reads()
    explained = {int(item.transfer.units): item_row(item).explanation for item in InboxItem.objects.all()}
    assert {units: SUM in words for units, words in explained.items()} == {1_000_000: False, 7_000_000: True}


class Mall:
    """Two checkouts of one merchant on a chain, which is read and attributed as in production."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        spec = lab.spec(lab.url)
        self.watcher = open_watcher(spec, open_pool(spec), owner="one")
        read_on(self.watcher)
        [self.token, *_] = [one.symbol for one in spec.accepted_tokens]
        self.wallet = lab.create_wallet()
        self.merchant = make_merchant()
        if not spec.family.has_forwarders or spec.exact_amount_required:
            make_wallet(self.merchant, spec.name, self.wallet.address)
        ReceivingWallet.objects.update(expected_until=timezone.now() + timedelta(hours=1))
        self.chain = spec.name

    def checkout(self, price: str, suffix: int) -> tuple[Checkout, Wallet, int]:
        """A checkout, where it is paid, and how much."""
        now = timezone.now()
        made = make_checkout(
            self.merchant,
            amount=Decimal(price),
            created_at=now - timedelta(minutes=5),
            expires_at=now + timedelta(minutes=25),
        )
        own = made.offers["base"]["address"]
        is_own = not ReceivingWallet.objects.exists()
        offer = {"tokens": [self.token], "address": own if is_own else None}
        made.offers = {self.chain: offer if is_own else offer | {"wallet": self.wallet.address}}
        made.save(update_fields=["offers"])
        if is_own:
            place = Wallet(bytes.fromhex(own[2:]), own, SimpleNamespace(address=own))
            return made, place, int(made.amount * 10**6)
        reserve(made, suffix)
        return made, self.wallet, exact(made)

    def follow(self) -> None:
        """Read the chain to its head, and attribute."""
        self.lab.wait(40)
        AccountCursor.objects.update(read_at=None)
        read_on(self.watcher)
        attribute_transfers(now=timezone.now())


@pytest.fixture
def mall(lab: Lab) -> Iterator[Mall]:
    """The merchant on each chain in turn."""
    made = Mall(lab)
    yield made
    made.watcher.close()


@pytest.mark.parametrize("lab", EACH_LAB, indirect=True)
@pytest.mark.parametrize("price", ["41.00", "42.00"])
def test_on_each_chain_two_checkouts_paid_by_one_transaction_are_both_paid(mall: Mall, price: str) -> None:
    one, to_one, units = mall.checkout("42.00", 1_000)
    other, to_other, others = mall.checkout(price, 1_700)
    mall.lab.pay((to_one, units), (to_other, others))
    mall.follow()
    for each in (one, other):
        each.refresh_from_db()
        assert each.status == "completed"
        assert each.payments.count() == 1
    assert not InboxItem.objects.exists()
