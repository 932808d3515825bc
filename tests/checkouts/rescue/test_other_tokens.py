"""A genuine token of another issuer in the merchant's wallet: in the inbox, in the reports, and never called a fraud."""

from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from checkouts.attribution.queue import attribute_transfers
from checkouts.models import BuyerReport, Checkout, InboxItem
from checkouts.states import CheckoutStatus, InboxReason, InboxStatus, RescueVerdict
from tests.chains import EACH_LAB
from tests.checkouts.arrivals import exact, reserve
from tests.checkouts.questions import answer
from tests.contract.client import client_of
from tests.factories import make_checkout, make_merchant, make_wallet
from tests.wallets.contract.labs import Lab, Wallet
from tests.wallets.factories import read_all
from wallets.chains.registry import open_pool
from wallets.models import AccountCursor, ChainCursor, ReceivingWallet
from wallets.networks import chain_spec
from wallets.selectors import forget
from wallets.watcher_process import open_watcher

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

GENUINE = {"ethereum": "PYUSD", "base": "USDbC", "tron": "USDC", "solana": "USDT", "ton": "USDe"}
"""By chain, a token that its issuer made there and no checkout takes."""


class Counter:
    """A merchant's wallet on a chain where a genuine other token is."""

    def __init__(self, lab: Lab, settings: Any) -> None:
        self.lab = lab
        known = lab.spec(lab.url)
        self.chain, self.other = known.name, GENUINE[known.name]
        places = {one.symbol: one.address for one in known.accepted_tokens}
        settings.CHAIN_NETWORK = "local"
        prefix = known.name.upper()
        settings.CHAIN_SETTINGS = {f"{prefix}_RPC_URLS": lab.url} | {
            f"{prefix}_TOKEN_{symbol.upper()}": address for symbol, address in places.items()
        }
        # It is where its issuer has it, as far as our facts know.
        lab.pay_other(lab.create_wallet(), 1)
        settings.CHAIN_SETTINGS |= {f"{prefix}_TOKEN_{self.other.upper()}": lab.other}
        # Nobody has read it.
        ChainCursor.objects.all().delete()
        forget()
        spec = chain_spec(self.chain)
        self.title = spec.title
        self.tokens = [one.symbol for one in spec.accepted_tokens]
        self.watcher = open_watcher(spec, open_pool(spec), owner="one")
        read_all(self.watcher)
        self.merchant = make_merchant()
        self.client = client_of(self.merchant, Mode.LIVE)
        self.wallet = lab.create_wallet()
        make_wallet(self.merchant, self.chain, self.wallet.address)
        ReceivingWallet.objects.update(expected_until=timezone.now() + timedelta(hours=1))

    def checkout(self) -> tuple[Checkout, Wallet]:
        """A checkout and where it is paid: its own address if it has one, else the merchant's wallet."""
        now = timezone.now()
        times = {"created_at": now - timedelta(minutes=5), "expires_at": now + timedelta(minutes=25)}
        if self.chain == "base":
            made = make_checkout(self.merchant, **times)
            own = str(made.offers["base"]["address"])
            place = Wallet(bytes.fromhex(own[2:]), own, SimpleNamespace(address=own))
        else:
            offer = {"tokens": self.tokens, "address": None, "wallet": self.wallet.address}
            made = make_checkout(self.merchant, offers={self.chain: offer}, **times)
            place = self.wallet
        reserve(made)
        return made, place

    def follow(self) -> None:
        """Read the chain to its head, and attribute."""
        self.lab.wait(40)
        AccountCursor.objects.update(read_at=None)
        read_all(self.watcher)
        attribute_transfers(now=timezone.now())


@pytest.fixture
def counter(lab: Lab, settings: Any) -> Iterator[Counter]:
    """The merchant on each chain in turn."""
    made = Counter(lab, settings)
    yield made
    made.watcher.close()


@pytest.mark.parametrize("lab", EACH_LAB, indirect=True)
def test_on_each_chain_another_issuers_token_is_no_fraud_and_a_person_sees_it(counter: Counter, client: Client) -> None:
    wanted, place = counter.checkout()
    sent = counter.lab.pay_other(place, exact(wanted))
    words = answer(client, wanted, sent)
    assert "deceived" not in words
    assert f"You sent 25.0037 {counter.other} on {counter.title}." in words
    assert BuyerReport.objects.get().verdict == RescueVerdict.WRONG_TOKEN
    counter.follow()
    item = InboxItem.objects.get()
    assert (item.reason, item.status, item.checkout) == (InboxReason.WRONG_TOKEN, InboxStatus.OPEN, wanted)
    assert f"{counter.other} on {counter.chain} is not a token we accept" in item.explanation
    [row] = counter.client.get("/reports/transactions").body["data"]
    assert (row["kind"], row["token"], row["amount"]) == ("other_token", counter.other, "25.003700")
    wanted.refresh_from_db()
    assert (wanted.status, wanted.amount_received) == (CheckoutStatus.PENDING, 0)
