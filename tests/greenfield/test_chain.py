"""The statuses of invoices on a local chain: real transfers, the real watcher, a reorg, and late money."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.states import Mode
from checkouts.attribution.queue import attribute_transfers
from checkouts.inbox.successors import accept_late
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout, InboxItem
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import deploy_token, mint, transfer
from tests.chains import USDC
from tests.factories import make_live_chain, make_merchant, make_wallet
from tests.greenfield.plugin import Plugin, make_plugin
from tests.wallets.factories import read_all
from wallets.chains.registry import open_pool
from wallets.models import ChainCursor
from wallets.networks import chain_spec
from wallets.selectors import forget
from wallets.watcher_process import open_watcher
from wallets.watchers.passes import ChainWatcher

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

CONFIRMATIONS = 6
PRICE = 25_000_000
ENDED = timedelta(minutes=10)


class Till:
    """A shop that takes USDC on Base, its buyer, and the watcher of the chain."""

    def __init__(self, node: Anvil, watcher: ChainWatcher, shop: Plugin) -> None:
        self.node, self.watcher, self.shop = node, watcher, shop

    def status(self, invoice: str) -> tuple[str, str]:
        """What the shop reads, after the chain was read."""
        read_all(self.watcher)
        attribute_transfers(now=timezone.now())
        told = self.shop.get(f"{self.shop.store}/invoices/{invoice}")
        return told["status"], told["additionalStatus"]

    def pay(self, invoice: str, units: int = PRICE) -> None:
        """Send tokens to the invoice's address, in a block of their own."""
        address = Checkout.objects.get(public_id=invoice).offers["base"]["address"]
        transfer(self.node, payer(self.node), USDC, address, units)

    def confirm(self) -> None:
        """Make all that was sent final."""
        self.node.mine(CONFIRMATIONS)

    def end(self, invoice: str) -> None:
        """Let the invoice's time pass, and the chain be read past it."""
        Checkout.objects.filter(public_id=invoice).update(expires_at=timezone.now() - ENDED)
        self.node.mine()
        read_all(self.watcher)
        assert expire_due_checkouts(now=timezone.now()) == 1


@pytest.fixture
def till(base_node: Anvil, configure: Callable[..., None], never_rests: None) -> Iterator[Till]:
    del never_rests
    configure(BASE_RPC_URLS=base_node.url, BASE_TOKEN_USDC=USDC, BASE_CONFIRMATIONS=str(CONFIRMATIONS))
    deploy_token(base_node, "USDC")
    mint(base_node, USDC, payer(base_node).address, 100 * PRICE)
    ChainCursor.objects.all().delete()
    make_live_chain("base", height=None, head=None)
    merchant = make_merchant()
    make_wallet(merchant, "base")
    forget()
    spec = chain_spec("base")
    pool = open_pool(spec)
    watcher = open_watcher(spec, pool, owner="one")
    read_all(watcher)
    yield Till(base_node, watcher, make_plugin(merchant, Mode.LIVE))
    pool.close()


def test_an_invoice_is_new_then_processing_then_settled(till: Till) -> None:
    invoice = till.shop.order()["id"]
    assert till.status(invoice) == ("New", "None")
    till.pay(invoice)
    assert till.status(invoice) == ("Processing", "None")
    till.confirm()
    assert till.status(invoice) == ("Settled", "None")


def test_too_much_is_paid_over_before_and_after_it_is_final(till: Till) -> None:
    invoice = till.shop.order()["id"]
    till.pay(invoice, 2 * PRICE)
    assert till.status(invoice) == ("Processing", "PaidOver")
    till.confirm()
    assert till.status(invoice) == ("Settled", "PaidOver")


def test_a_part_is_paid_partial_also_once_the_time_has_passed(till: Till) -> None:
    invoice = till.shop.order()["id"]
    till.pay(invoice, PRICE // 2)
    till.confirm()
    assert till.status(invoice) == ("New", "PaidPartial")
    till.end(invoice)
    assert till.status(invoice) == ("Expired", "PaidPartial")


def test_late_money_that_is_accepted_is_paid_late(till: Till) -> None:
    invoice = till.shop.order()["id"]
    till.end(invoice)
    assert till.status(invoice) == ("Expired", "None")
    till.pay(invoice)
    till.confirm()
    assert till.status(invoice) == ("Expired", "None")
    with transaction.atomic():
        accept_late(InboxItem.objects.get(), now=timezone.now())
    assert till.status(invoice) == ("Expired", "PaidLate")


def test_money_that_a_reorg_takes_is_not_processing_any_more(till: Till) -> None:
    invoice = till.shop.order()["id"]
    till.pay(invoice)
    assert till.status(invoice) == ("Processing", "None")
    till.node.reorg(1)
    till.node.mine(2)
    assert till.status(invoice) == ("New", "None")
    till.pay(invoice)
    till.confirm()
    assert till.status(invoice) == ("Settled", "None")
