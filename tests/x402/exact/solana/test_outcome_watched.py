"""What was settled on Solana meets what the watcher of the merchant's wallet records: the same transfer, final or undone."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.contract.client import ApiClient
from tests.wallets.accountchains import OnSolana, open_account_watcher, read_all
from tests.x402.exact.calls import settle
from tests.x402.exact.solana.payers import Shop, ticking
from wallets.models import Transfer, TransferClaim
from x402.exact.authorizations import LEASE
from x402.exact.sweep import finish_open
from x402.models import Authorization, X402Payment
from x402.payments.transfers import follow_transfers

pytestmark = pytest.mark.django_db


def watch(shop: Shop, *, after: int = 0, depth: int = 1) -> X402Payment:
    """Let a watcher read the wallet some seconds later, and have what it found followed."""
    now = timezone.now() + timedelta(seconds=after)
    watcher = open_account_watcher(OnSolana(shop.node), CONFIRMATIONS=str(depth))
    read_all(watcher, now=now)
    follow_transfers(now=now)
    return X402Payment.objects.get()


def settled(shop: Shop, seller: ApiClient) -> X402Payment:
    with ticking(shop.node):
        answer = settle(seller, shop.body(shop.draft().signed()))
    assert answer["success"], answer
    return X402Payment.objects.get()


def test_the_watcher_finds_the_payment_under_the_same_name(solana_stall: Shop, solana_seller: ApiClient) -> None:
    before = settled(solana_stall, solana_seller)
    solana_stall.node.finalize()
    payment = watch(solana_stall)
    found = Transfer.objects.get(tx_hash=before.tx_hash)
    assert payment.transfer == found
    assert (found.position, found.units) == (before.position, before.units)
    assert (found.sender, found.recipient) == (before.payer, before.pay_to)
    assert TransferClaim.objects.get().transfer == found
    # The wallet is the merchant's own.
    assert (payment.status, payment.final_at) == ("settled", payment.settled_at)
    assert payment.final_at is not None


def test_a_watcher_that_was_faster_is_met_as_well(solana_stall: Shop, solana_seller: ApiClient) -> None:
    payment = settled(solana_stall, solana_seller)
    watch(solana_stall)
    transfer = Transfer.objects.get(tx_hash=payment.tx_hash)
    TransferClaim.objects.all().delete()
    Authorization.objects.update(state="sent", payment=None, answer=None, served_at=None)
    X402Payment.objects.all().delete()
    finish_open(clock=lambda: timezone.now() + 2 * LEASE)
    assert X402Payment.objects.get().transfer == transfer
    assert TransferClaim.objects.get().transfer == transfer


def test_what_a_fork_undoes_is_reversed_and_stands_again_once_it_is_sent_again(
    solana_stall: Shop, solana_seller: ApiClient
) -> None:
    solana_stall.node.finalize()
    began = solana_stall.node.slot()
    settled(solana_stall, solana_seller)
    # What is final is not looked for again, so the operator waits for more slots than there are.
    assert watch(solana_stall, depth=1_000).status == "verified"
    # Its own slot may be the one that was the newest before.
    solana_stall.node.rollback(after=began - 1)
    solana_stall.node.advance(5)
    assert watch(solana_stall, after=10, depth=1_000).status == "reversed"
    row = Authorization.objects.get()
    assert row.state == "sent"
    # Its block's hash can be used still: it is sent again.
    finish_open(clock=lambda: timezone.now() + 2 * LEASE)
    solana_stall.node.advance(5)
    assert watch(solana_stall, after=20, depth=1_000).status == "verified"
    assert X402Payment.objects.get().reversed_at is None
