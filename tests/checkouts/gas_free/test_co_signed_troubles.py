"""On Solana: what was stored and not sent is sent by the next beat, and a crowd that lets our account pay for nothing costs a bound."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from solders.keypair import Keypair

from checkouts.gas_free import co_signed
from checkouts.models import AmountReservation
from checkouts.states import CheckoutStatus
from localnet.solana.node import Payment, SolanaNode
from settlements.gas import shares, strangers
from settlements.gas.fees import LAMPORTS, daily_coins
from settlements.gas.solana_relay import PART
from settlements.models import SponsoredTransaction
from settlements.states import Outcome
from settlements.tasks import tend_transactions
from tests.checkouts.gas_free.co_signers import new_buyer, offered, pay_fees, signature_of, signed
from tests.checkouts.gas_free.payers import PRICE
from tests.checkouts.page.buyers import chosen, error_of
from tests.checkouts.shop import Shop
from tests.nodes.proxy import Holding, RpcProxy
from tests.tree import ROOT
from tests.x402.exact.processes import SECONDS, environment
from wallets import lookup
from wallets.chains.solana import sending
from wallets.chains.solana.unsigned_payment import SPONSORED_FEE

pytestmark = pytest.mark.django_db

PAYERS = 200
MONEY = 2 * PRICE


@pytest.fixture
def shop(solana_shop: Shop, solana_node: SolanaNode, settings: Any) -> Shop:
    """A shop whose buyers' network fees the operator pays."""
    settings.GAS_FREE = ["solana"]
    pay_fees(solana_node, settings, solana_shop.address)
    co_signed._desks._kept.clear()
    strangers._funders.clear()
    return solana_shop


def test_killed_between_storing_and_sending_it_is_sent_by_the_next_beat_and_once(
    client: Client, shop: Shop, solana_node: SolanaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    buyer, checkout = new_buyer(solana_node), chosen(shop)
    due = PRICE + AmountReservation.objects.get().suffix
    offer = offered(client, checkout, buyer).json()
    with monkeypatch.context() as patch:

        def dies(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(sending, "send", dies)
        with pytest.raises(KeyboardInterrupt):
            signed(client, checkout, offer, buyer)
    made = SponsoredTransaction.objects.get()
    assert (made.outcome, solana_node.balance(shop.address)) == (Outcome.OPEN, 1)
    # The buyer who posts it again is told which one it is, and no second one is made.
    assert signed(client, checkout, offer, buyer).json() == {"tx_hash": made.tx_hash}
    for _ in range(2):
        tend_transactions()
        solana_node.advance(2)
    assert solana_node.balance(shop.address) == 1 + due
    made.refresh_from_db()
    assert made.outcome == Outcome.DONE
    shop.watch()
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.COMPLETED


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_bells")
def test_a_process_that_is_killed_while_it_sends_leaves_what_the_next_beat_sends(
    client: Client, shop: Shop, solana_node: SolanaNode
) -> None:
    buyer, checkout = new_buyer(solana_node), chosen(shop)
    due = PRICE + AmountReservation.objects.get().suffix
    offer = offered(client, checkout, buyer).json()
    asked = {"code": checkout.code, "ticket": offer["ticket"], "signature": signature_of(offer, buyer)}
    with RpcProxy(solana_node.url) as proxy:
        proxy.fault = holding = Holding("sendTransaction")
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.checkouts.gas_free.poster"],
            cwd=ROOT,
            env=environment(proxy.url, "solana") | {"GAS_FREE": "solana"},
            stdin=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(asked))
            process.stdin.close()
            assert holding.came.wait(SECONDS)
        finally:
            process.kill()
            process.wait()
    made = SponsoredTransaction.objects.get()
    assert (made.outcome, solana_node.balance(shop.address)) == (Outcome.OPEN, 1)
    for _ in range(2):
        tend_transactions()
        solana_node.advance(2)
    made.refresh_from_db()
    assert (made.outcome, solana_node.balance(shop.address)) == (Outcome.DONE, 1 + due)


def test_what_a_node_did_not_take_is_sent_again_until_a_block_has_it(
    client: Client, shop: Shop, solana_node: SolanaNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    buyer, checkout = new_buyer(solana_node), chosen(shop)
    real, sent = sending.send, []

    def forgets_twice(pool: Any, raw: bytes) -> None:
        sent.append(raw)
        if len(sent) > 2:
            real(pool, raw)

    monkeypatch.setattr(sending, "send", forgets_twice)
    assert signed(client, checkout, offered(client, checkout, buyer).json(), buyer).status_code == 200
    for _ in range(3):
        tend_transactions()
        solana_node.advance(2)
    assert SponsoredTransaction.objects.get().outcome == Outcome.DONE
    assert len(sent) == 3
    assert len(set(sent)) == 1


def test_what_a_fork_takes_back_is_sent_again_and_paid_once(
    client: Client, shop: Shop, solana_node: SolanaNode
) -> None:
    buyer, checkout = new_buyer(solana_node), chosen(shop)
    due = PRICE + AmountReservation.objects.get().suffix
    offer = offered(client, checkout, buyer).json()
    before = solana_node.slot()
    solana_node.advance()
    assert signed(client, checkout, offer, buyer).status_code == 200
    tend_transactions()
    made = SponsoredTransaction.objects.get()
    assert made.outcome == Outcome.OPEN
    assert made.tx_hash in solana_node.rollback(after=before)
    solana_node.advance(2)
    assert solana_node.balance(shop.address) == 1
    for _ in range(2):
        tend_transactions()
        solana_node.advance(2)
    made.refresh_from_db()
    assert (made.outcome, solana_node.balance(shop.address)) == (Outcome.DONE, 1 + due)


class Crowd:
    """Hostile payers of one shop, each from an address of its own, whom one account gave the token."""

    def __init__(self, node: SolanaNode, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
        self.node, self.shop = node, shop
        self._patches = monkeypatch
        self._numbers = count(1)
        self.funder = new_buyer(node, 10 * PAYERS * MONEY)
        node.airdrop(str(self.funder.pubkey()))

    def client(self) -> Client:
        """A browser that nobody knows."""
        number = next(self._numbers)
        return Client(REMOTE_ADDR=f"10.8.{number // 250}.{number % 250 + 1}")

    def payer(self, funder: Keypair | None = None) -> Keypair:
        """An account with the price of a checkout."""
        made = Keypair()
        self.node.pay_all([Payment(str(made.pubkey()), MONEY)], payer=funder or self.funder)
        return made

    def drains(self) -> int:
        """Move the money away once the transaction was rehearsed, so that it fails in its block at our cost."""
        payer, client, checkout = self.payer(), self.client(), chosen(self.shop)
        # So that it can pay for that.
        self.node.airdrop(str(payer.pubkey()))
        offer = offered(client, checkout, payer)
        if offer.status_code != 200:
            return int(offer.status_code)
        with self._before_sending(lambda: self.node.pay_all([Payment(self.away(), MONEY)], payer=payer)):
            return int(signed(client, checkout, offer.json(), payer).status_code)

    def away(self) -> str:
        """Where drained money goes."""
        return str(self.funder.pubkey())

    @contextmanager
    def _before_sending(self, act: Any) -> Iterator[None]:
        real = sending.send

        def send(pool: Any, raw: bytes) -> None:
            act()
            real(pool, raw)

        with self._patches.context() as patch:
            patch.setattr(sending, "send", send)
            yield

    def forges(self) -> int:
        """Sign with another key."""
        client, checkout = self.client(), chosen(self.shop)
        offer = offered(client, checkout, self.payer())
        if offer.status_code != 200:
            return int(offer.status_code)
        return int(signed(client, checkout, offer.json(), Keypair()).status_code)

    def empties(self) -> int:
        """Hold nothing, or nothing any more once it is signed."""
        client, checkout = self.client(), chosen(self.shop)
        assert error_of(offered(client, checkout, Keypair()), 409)[0] in {"funds_insufficient", "gas_free_unavailable"}
        payer = self.payer()
        self.node.airdrop(str(payer.pubkey()))
        offer = offered(client, checkout, payer)
        self.node.pay_all([Payment(self.away(), MONEY)], payer=payer)
        if offer.status_code != 200:
            return int(offer.status_code)
        return int(signed(client, checkout, offer.json(), payer).status_code)


def end(node: SolanaNode) -> None:
    """Let everything end that is on its way."""
    node.advance(200)
    node.finalize()
    tend_transactions()
    co_signed._desks._kept.clear()


def test_all_hostile_payers_together_cost_the_stated_bound(
    shop: Shop, solana_node: SolanaNode, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Else the limit of the chain's nodes stops most of them before any bound of fees does.
    monkeypatch.setattr(lookup, "_LEAST_A_MINUTE", 100_000)
    # So that four failures are more than a 300th of the merchant's share.
    settings.GAS_DAILY_COINS = {"solana": f"{Decimal(40 * 200 * SPONSORED_FEE) / LAMPORTS:f}"}
    crowd = Crowd(solana_node, shop, monkeypatch)
    came = []
    for number in range(PAYERS):
        way = (crowd.drains, crowd.forges, crowd.empties)[number % 3]
        came.append((way.__name__, way()))
        end(solana_node)
    assert {status for _, status in came} <= {200, 400, 409}
    # What forgers and the empty do costs nothing.
    assert {name for name, status in came if status == 200} == {"drains"}
    rows = SponsoredTransaction.objects.all()
    assert {(row.outcome, row.fee) for row in rows} == {(Outcome.FAILED, SPONSORED_FEE)}
    share = daily_coins("solana") * LAMPORTS / PART * Decimal(settings.GAS_MERCHANT_SHARE)
    most = max(share / shares.FAILED_PART, Decimal(shares.FAILED_LEAST * SPONSORED_FEE)) + SPONSORED_FEE
    assert 0 < sum(row.fee for row in rows) <= most
    # A buyer whom another account paid is served meanwhile, and all are minutes later.
    other = new_buyer(solana_node, 10 * MONEY)
    solana_node.airdrop(str(other.pubkey()))
    assert pays(crowd, crowd.payer(other))
    SponsoredTransaction.objects.update(created_at=timezone.now() - shares.HOUR)
    assert pays(crowd, crowd.payer())


def pays(crowd: Crowd, payer: Keypair) -> bool:
    """Whether an honest buyer's payment is sent."""
    client, checkout = crowd.client(), chosen(crowd.shop)
    offer = offered(client, checkout, payer)
    return bool(offer.status_code == 200 and signed(client, checkout, offer.json(), payer).status_code == 200)
