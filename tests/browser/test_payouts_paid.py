"""Refunds that a wallet in the browser pays on a real chain, in one prompt, followed until they are paid, and through reorgs."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of
from payouts.following.service import follow_movements
from payouts.models import Payout, PayoutBatch
from payouts.states import PayoutException, PayoutStatus
from tests.browser.injected import CallsWallet
from tests.dashboard.people import Desk, make_desk
from tests.factories import make_merchant, make_wallet
from tests.payouts.factories import BUYER, approved, make_paid, refund_of
from tests.settlements.chain import USDC
from tests.waiting import wait_until
from tests.wallets.factories import read_all
from tests.wallets.paying import send_raw
from wallets.models import ChainCursor
from wallets.watched.service import watch_wallet
from wallets.watchers.ingest import resume

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BASE = 8453
CONFIRMATIONS = 6
MANY = 47
CENTS = 10_000


class Till:
    """An owner whose wallet is in the browser, refunds that were approved, and the watcher of a local Base."""

    def __init__(self, node: Anvil, watcher: Any, settings: Any) -> None:
        self.node, self.watcher = node, watcher
        settings.MOVEMENT_CONSUMERS = []
        account = payer(node)
        self.wallet = CallsWallet(account.address, 1, lambda *_: None, node=node, key=account.key)
        merchant = make_merchant()
        make_wallet(merchant)
        self.owner: Desk = make_desk(merchant, factor=True)
        then = timezone.now() - timedelta(hours=1)
        watch_wallet(merchant, mode=self.owner.mode, chain="base", address=account.address, now=then)
        self.follow()

    def refunds(self, count: int) -> None:
        """So many refunds of different amounts, each of a checkout of its own, approved."""
        for number in range(count):
            asked = refund_of(make_paid(self.owner.merchant), CENTS + number, address=BUYER)
            approved(asked.payout, self.owner.user)
        # The chain's blocks may have an older time than the tests' noon.
        Payout.objects.update(created_at=timezone.now() - timedelta(days=365))

    def freeze(self, open_desk: Callable[..., Page]) -> Page:
        """The owner selects everything that is to be paid, and freezes it for the wallet; return the batch's page."""
        page = open_desk(self.owner, "dashboard_payouts")
        self.wallet.install(page)
        page.goto(f"{page.url}?status=pay")
        page.get_by_role("button", name="Pay the selected").click()
        page.get_by_label("Paying wallet").fill(self.wallet.account)
        page.get_by_label("Sign in this browser").check()
        page.get_by_role("button", name="Freeze the list").click()
        expect(page.get_by_role("heading", name="The frozen list")).to_be_visible()
        return page

    def follow(self) -> None:
        read_all(self.watcher)
        follow_movements(now=timezone.now())

    def are(self, status: PayoutStatus, exception: PayoutException = PayoutException.NONE) -> bool:
        """Whether all payouts are so, once what the chain has now was followed."""
        self.follow()
        return {*Payout.objects.values_list("status", "exception")} == {(status, exception)}

    def received(self) -> int:
        return balance_of(self.node, USDC, BUYER)


@pytest.fixture
def till(base_node: Anvil, base_watcher: Any, settings: Any) -> Till:
    """The owner, who has nothing to pay yet."""
    return Till(base_node, base_watcher, settings)


SENT = "Sent. The payouts are paid once the network confirms them."


def test_forty_seven_refunds_are_paid_in_one_prompt_and_survive_a_reorg(
    till: Till, open_desk: Callable[..., Page]
) -> None:
    till.refunds(MANY)
    page, had = till.freeze(open_desk), till.received()
    page.get_by_role("button", name="Send with Test Wallet").click()
    expect(page.get_by_text(SENT)).to_be_visible()
    assert [method for method, _ in till.wallet.calls if method.endswith(("sendCalls", "sendTransaction"))] == [
        "wallet_sendCalls"
    ]
    owed = sum(CENTS + number for number in range(MANY))
    assert till.received() - had == owed
    before = till.node.block_number() - 1
    wait_until(lambda: till.are(PayoutStatus.SENDING))
    assert Payout.objects.filter(movement__tx_hash=till.node.block()["transactions"][0]).count() == MANY
    # Gone before it was final: all are being sent again, and none is offered to be sent a second time: the first one may return.
    till.node.reorg(till.node.block_number() - before)
    till.node.mine()
    wait_until(lambda: till.are(PayoutStatus.SENDING) and not Payout.objects.exclude(movement=None).exists())
    assert till.received() == had
    page.reload()
    expect(page.get_by_role("button", name="Send with Test Wallet")).to_have_count(0)
    # Whoever has the transaction sends it again; its account's number lets it in once.
    send_raw(till.node, till.wallet.sent[-1])
    till.node.mine(CONFIRMATIONS)
    wait_until(lambda: till.are(PayoutStatus.PAID))
    assert Payout.objects.values("movement").distinct().count() == MANY
    assert till.received() - had == owed
    page.reload()
    expect(page.get_by_role("cell", name="Paid", exact=True)).to_have_count(MANY)
    # Gone after it was final: a person decides about the chain, and then all are reversed, and none is sent again.
    till.node.reorg(CONFIRMATIONS + 2)
    till.node.mine(3)
    wait_until(lambda: till.are(PayoutStatus.PAID) and bool(ChainCursor.objects.get().halted_reason))
    resume("base", height=before, now=timezone.now())
    assert till.are(PayoutStatus.PAID, PayoutException.REVERSED)
    assert PayoutBatch.objects.count() == 1


def test_a_wallet_that_cannot_bundle_pays_them_one_after_the_other(till: Till, open_desk: Callable[..., Page]) -> None:
    till.wallet.bundles = False
    till.refunds(3)
    page, had = till.freeze(open_desk), till.received()
    page.get_by_role("button", name="Send with Test Wallet").click()
    expect(page.get_by_text(SENT)).to_be_visible()
    assert len(till.wallet.named("eth_sendTransaction")) == 3
    till.node.mine(CONFIRMATIONS)
    wait_until(lambda: till.are(PayoutStatus.PAID))
    assert till.received() - had == sum(CENTS + number for number in range(3))


def test_another_account_than_the_frozen_one_pays_nothing(till: Till, open_desk: Callable[..., Page]) -> None:
    till.refunds(2)
    page, had = till.freeze(open_desk), till.received()
    till.wallet.account, frozen = till.node.accounts[4].address, till.wallet.account
    page.get_by_role("button", name="Send with Test Wallet").click()
    expect(page.get_by_text(f"Your wallet shares another account. Choose {frozen} in it")).to_be_visible()
    assert not till.wallet.named("wallet_sendCalls") + till.wallet.named("eth_sendTransaction")
    assert (till.received() - had, till.are(PayoutStatus.SENDING)) == (0, True)
