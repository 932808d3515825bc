"""Payers who let our gas account pay for nothing: what all of them cost together is bounded, and others are served again."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from localnet.abi import encode_call
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.smart_wallet import deploy_wallet
from localnet.tokens import balance_of, mint
from settlements.gas import shares
from settlements.gas.node import gas_node
from settlements.gas.upkeep import tend
from settlements.models import GasTransaction
from settlements.states import Outcome
from tests.checkouts.gas_free.payers import PRICE, Payer, new_payer
from tests.checkouts.page.buyers import error_of
from tests.checkouts.shop import Shop
from tests.nodes.overtaking import overtake
from wallets import lookup

pytestmark = pytest.mark.django_db

PAYERS = 200
HOG_ROUNDS = 5_000


class Crowd:
    """Hostile payers of one shop, each from an address of its own and with a wallet that does something else."""

    def __init__(self, node: Anvil, usdc: str, shop: Shop) -> None:
        self.node, self.usdc, self.shop = node, usdc, shop
        self.number = 0
        # Where checkouts are paid by somebody else's transaction.
        self.paid: list[str] = []

    def client(self) -> Client:
        """A browser that nobody knows."""
        self.number += 1
        return Client(REMOTE_ADDR=f"10.9.{self.number // 250}.{self.number % 250 + 1}")

    def wallet(self) -> Payer:
        """A contract wallet with money."""
        owner = payer(self.node)
        made = Payer(deploy_wallet(self.node, owner), owner.key)
        mint(self.node, self.usdc, made.address, PRICE)
        return made

    def turns(self) -> int:
        """Vouch for the transfer, and no more once it is sent."""
        wallet, client, checkout = self.wallet(), self.client(), self.shop.checkout()
        self.node.set_automine(False)
        try:
            offer = wallet.offered(client, checkout)
            if offer.status_code != 200:
                return int(offer.status_code)
            answer = wallet.signed(client, checkout, offer.json(), more="00")
            if answer.status_code == 200:
                overtake(self.node, wallet.address, encode_call("turn_at(uint256)", 0))
            self.node.mine()
            return int(answer.status_code)
        finally:
            self.node.set_automine(True)

    def hogs(self) -> int:
        """Let the wallet think for longer than is paid for."""
        wallet, client, checkout = self.wallet(), self.client(), self.shop.checkout()
        self.node.send(payer(self.node), to=wallet.address, data=encode_call("burn(uint256)", HOG_ROUNDS), gas=200_000)
        offer = wallet.offered(client, checkout).json()
        return int(wallet.signed(client, checkout, offer, more="00").status_code) if "ticket" in offer else 409

    def forges(self) -> int:
        """Sign with another key."""
        client, checkout = self.client(), self.shop.checkout()
        victim = new_payer(self.node, self.usdc)
        offer = victim.offered(client, checkout).json()
        thief = Payer(victim.address, self.node.accounts[8].key)
        return int(thief.signed(client, checkout, offer).status_code) if "ticket" in offer else 409

    def empties(self) -> int:
        """Hold nothing, or nothing any more once it is signed."""
        client, checkout = self.client(), self.shop.checkout()
        nobody = new_payer(self.node, self.usdc, 0).offered(client, checkout)
        assert error_of(nobody, 409)[0] in {"funds_insufficient", "gas_free_unavailable"}
        emptied = new_payer(self.node, self.usdc)
        offer = emptied.offered(client, checkout).json()
        self._take_away(emptied)
        return int(emptied.signed(client, checkout, offer).status_code) if "ticket" in offer else 409

    def drains(self) -> int:
        """Take the money away in the block that would have moved it."""
        payer, client, checkout = new_payer(self.node, self.usdc), self.client(), self.shop.checkout()
        with self._in_one_block():
            offer = payer.offered(client, checkout)
            if offer.status_code != 200:
                return int(offer.status_code)
            answer = payer.signed(client, checkout, offer.json())
            if answer.status_code == 200:
                self._take_away(payer)
            return int(answer.status_code)

    def overtakes(self) -> int:
        """Send the signed transfer oneself, first: it pays the checkout, and ours fails."""
        payer, client, checkout = new_payer(self.node, self.usdc), self.client(), self.shop.checkout()
        with self._in_one_block():
            offer = payer.offered(client, checkout)
            if offer.status_code != 200:
                return int(offer.status_code)
            answer = payer.signed(client, checkout, offer.json())
            if answer.status_code == 200:
                overtake(self.node, self.usdc, payer.transfer(offer.json()["typed_data"]))
                self.paid.append(str(checkout.offers["base"]["address"]))
            return int(answer.status_code)

    def _take_away(self, payer: Payer) -> None:
        self.node.rpc("anvil_setBalance", payer.address, hex(10**19))
        self.node.rpc("anvil_impersonateAccount", payer.address)
        data = encode_call("transfer(address,uint256)", self.node.accounts[9].address, PRICE)
        overtake(self.node, self.usdc, data, sender=payer.address)

    @contextmanager
    def _in_one_block(self) -> Iterator[None]:
        self.node.set_automine(False)
        try:
            yield
            self.node.mine()
        finally:
            self.node.set_automine(True)


@pytest.fixture
def crowd(base_node: Anvil, usdc: str, free_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Crowd:
    """Of whom no sum of a day is remembered."""
    monkeypatch.setattr(shares, "_of_a_day", shares._of_a_day.__wrapped__)
    # Else the limit of the chain's nodes stops most of them before any bound of gas does.
    monkeypatch.setattr(lookup, "_LEAST_A_MINUTE", 10_000)
    return Crowd(base_node, usdc, free_shop)


def tend_all() -> None:
    with gas_node("base") as node:
        tend("base", node=node, now=timezone.now())


def test_all_hostile_payers_together_cost_the_stated_bound(crowd: Crowd, settings: Any) -> None:
    # So that four failures are more than a 300th of the merchant's share.
    settings.GAS_DAILY_COINS = {"base": "0.2"}
    for number in range(PAYERS):
        ways = (crowd.turns, crowd.hogs, crowd.forges, crowd.empties, crowd.drains, crowd.overtakes)
        assert ways[number % len(ways)]() in {200, 400, 409}
        tend_all()
    failed = GasTransaction.objects.filter(outcome=Outcome.FAILED)
    cost = sum(int(one.cost_wei or one.most_wei) for one in failed)
    payment = max(int(one.most_wei) for one in GasTransaction.objects.all())
    share = shares.share_of("base")
    most = max(share / shares.FAILED_PART, Decimal(shares.FAILED_LEAST * payment)) + payment
    assert 0 < cost <= most
    # What hogs, forgers and the empty do costs nothing. Who overtakes us pays the checkout, and is bounded like all.
    assert set(GasTransaction.objects.values_list("outcome", flat=True)) == {Outcome.FAILED}
    assert crowd.paid
    assert {balance_of(crowd.node, crowd.usdc, address) for address in crowd.paid} == {PRICE}
    # Minutes later an honest buyer is served.
    GasTransaction.objects.update(created_at=timezone.now() - shares.WINDOW - timedelta(seconds=1))
    honest = new_payer(crowd.node, crowd.usdc)
    assert honest.pay(crowd.client(), crowd.shop.checkout()).status_code == 200
