"""A merchant with a wallet on one local chain, and the real watcher of that chain, run by the test."""

from decimal import Decimal

from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from checkouts.attribution.queue import attribute_transfers
from checkouts.creation.service import create_checkout
from checkouts.inputs import NewCheckout
from checkouts.models import Checkout
from checkouts.states import TestScenario
from tests.factories import make_merchant, make_wallet
from tests.wallets.factories import read_all
from wallets.chains.registry import open_pool
from wallets.networks import chain_spec
from wallets.watcher_process import open_watcher
from wallets.watchers.passes import ChainWatcher


class Shop:
    """A merchant with a wallet on one chain, and the watcher of that chain, run by the test."""

    def __init__(self, chain: str, address: str) -> None:
        self.chain = chain
        self.address = address
        self.merchant: Merchant = make_merchant()
        make_wallet(self.merchant, chain, address)
        spec = chain_spec(chain)
        self.watcher: ChainWatcher = open_watcher(spec, open_pool(spec), owner="one")
        self.watch()

    def checkout(self, amount: str = "25.00") -> Checkout:
        """A live checkout as the API makes one."""
        wanted = NewCheckout(
            amount=Decimal(amount),
            currency="USD",
            description="",
            metadata="{}",
            customer_email="",
            redirect_url="",
            webhook_url="",
            expires_in=1800,
            customer_ref="",
            product_ref="",
            order_ref="",
            test_scenario=TestScenario.COMPLETED,
        )
        created = create_checkout(self.merchant.pk, Mode.LIVE, wanted, now=timezone.now())
        return Checkout.objects.get(pk=created.row.id)

    def watch(self) -> None:
        """Read to the head, and give what came to the checkouts."""
        read_all(self.watcher)
        attribute_transfers(now=timezone.now())
