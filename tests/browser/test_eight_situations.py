"""Money that goes back or out in everyday situations, and how many clicks it takes from the first page after the login.

Clicks or taps, and after a plus sign what is typed or chosen. Each is followed until a local chain has paid it: asked for, approved,
frozen and sent from a wallet in the browser, whose transaction a watcher reads there until it is final. The money that is sent back is
recorded by the test, and the recipient gives an address meanwhile, which the test does in the claim page's place.

| situation                                             | ask   | approve | pay | in all  |
|-------------------------------------------------------|-------|---------|-----|---------|
| a sale is returned, all of it                         | 3     | 2       | 3   | 8       |
| the next one, in part: approved and paid as before    | 3 + 1 | 2       | 1   | 6 + 1   |
| the same to an address that the buyer told            | 3 + 2 | 1       | 1   | 5 + 2   |
| a part of it                                          | 3 + 1 | 2       | 3   | 8 + 1   |
| a buyer paid too much: the form suggests the rest     | 3     | 2       | 3   | 8       |
| money came too late                                   | 3     | 2       | 3   | 8       |
| money for another shop came here                      | 3     | 2       | 3   | 8       |
| a machine paid (x402)                                 | 4     | 2       | 3   | 9       |
| wages of fifty people, from a CSV file                | 4 + 1 | 3       | 5   | 12 + 1  |
| a customer of an exchange, who gets the link by mail  | 3 + 1 | 2       | 3   | 8 + 1   |

One payout is approved from the overview, which leads to the only one that waits, and paid from its own page. The wallet in the browser is
the first of the methods. Once a wallet has paid on a chain, who approves alone hands the next payout out by the same press.

Fifty payouts are approved as one list, whose addresses stand on one page: opened one by one they were 150 clicks.

What is counted begins after the login, which takes 2 + 3: address, password and code. Who approves or freezes more than ten minutes after that
is asked for a code once more, 1 + 1, and for none again for ten minutes. The last test counts both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, expect

from checkouts.models import InboxItem
from checkouts.states import InboxReason
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import balance_of
from payouts.following.service import follow_movements
from payouts.lifecycle.service import set_address
from payouts.models import Payout, PayoutBatch
from payouts.states import AddressBy, PayoutStatus
from tests.accounts.logins import totp_code
from tests.browser.injected import CallsWallet
from tests.browser.test_five_tasks import Hand, log_in_hand
from tests.checkouts.inboxes import extra_item, late_item
from tests.checkouts.watcher import DOLLAR, pay
from tests.dashboard.machines import of_transfer
from tests.dashboard.people import PASSWORD, Desk, make_desk
from tests.factories import NOON, make_checkout, make_wallet
from tests.payouts.factories import BUYER, make_payout
from tests.settlements.chain import USDC
from tests.waiting import wait_until
from tests.wallets.factories import read_all
from tests.x402.recorded import make_machine_transfer, make_seller
from wallets.models import ChainCursor, ReceivingWallet, Transfer
from wallets.states import TransferState

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CONFIRMATIONS = 6
WORKERS = 50
# Clicks for each payout or list of them, and for each batch.
APPROVING, PAYING = 3, 5
# The same of the only payout that waits, and of one that is paid as the one before.
APPROVING_ONE, PAYING_ONE = 2, 3
PAYING_AGAIN = 1
# Clicks and fields.
LOGIN, PROOF = (2, 3), (1, 1)


class Street:
    """An owner whose wallet is in the browser, and the watcher of a local Base."""

    def __init__(self, node: Anvil, watcher: Any, configure: Callable[[], None], settings: Any) -> None:
        self.node, self.watcher, self.settings = node, watcher, settings
        settings.MOVEMENT_CONSUMERS = []
        self._configure = configure
        account = payer(node)
        self.wallet = CallsWallet(account.address, 1, lambda *_: None, node=node, key=account.key)
        self.owner: Desk = make_desk(factor=True)

    def open(self, prepare: Callable[[Desk, Any], object]) -> None:
        """Let money have come, then let the owner's receiving wallet be the browser's, and the chain be read to its head."""
        prepare(self.owner, self.settings)
        self._configure()
        ReceivingWallet.objects.update(address=self.wallet.account)
        ChainCursor.objects.all().delete()
        self.follow()

    def follow(self) -> None:
        """Read the chain to its head, and follow what was read."""
        read_all(self.watcher)
        follow_movements(now=timezone.now())

    def are_paid(self) -> bool:
        """Whether all payouts are, once what the chain has now was followed."""
        self.follow()
        return not Payout.objects.exclude(status=PayoutStatus.PAID).exists()


@pytest.fixture
def street(base_node: Anvil, base_watcher: Any, configure: Callable[..., None], settings: Any) -> Street:
    """The owner, with nothing asked for yet."""
    known = {"BASE_RPC_URLS": base_node.url, "BASE_TOKEN_USDC": USDC, "BASE_CONFIRMATIONS": str(CONFIRMATIONS)}
    return Street(base_node, base_watcher, lambda: configure(**known), settings)


def paid_checkout(owner: Desk, units: int = 25 * DOLLAR) -> None:
    make_wallet(owner.merchant)
    pay(make_checkout(owner.merchant, order_ref="HR-20481"), units)


def two_paid_checkouts(owner: Desk) -> None:
    paid_checkout(owner)
    pay(make_checkout(owner.merchant, order_ref="HR-20482"))


def of_checkout(hand: Hand, amount: str = "", order: str = "HR-20481") -> None:
    """Ask for a refund of a checkout, of what the form suggests by default."""
    hand.follow(order)
    hand.follow("Refund…")
    create(hand, amount)


def of_item(owner: Desk, hand: Hand) -> Decimal:
    hand.go("Sales", "Inbox")
    hand.follow("Refund…")
    create(hand)
    return Decimal(25)


def create(hand: Hand, amount: str = "") -> None:
    if amount:
        hand.fill(hand.page.get_by_label("Amount in USDC"), amount)
    hand.press("Create refund")
    expect(hand.page.get_by_text("Refund created")).to_be_visible()


def in_full(owner: Desk, hand: Hand) -> Decimal:
    of_checkout(hand)
    return Decimal(25)


def the_rest(owner: Desk, hand: Hand) -> Decimal:
    """The form suggests what was overpaid."""
    of_checkout(hand)
    return Decimal(5)


def in_part(owner: Desk, hand: Hand) -> Decimal:
    of_checkout(hand, "5")
    return Decimal(5)


def of_machine(owner: Desk, hand: Hand) -> Decimal:
    hand.go("Developers", "x402")
    hand.follow("Refund…")
    create(hand)
    return Decimal(1)


def to_exchange(owner: Desk, hand: Hand) -> Decimal:
    """A buyer who paid from an exchange gets a link by mail, whose page warns of the exchange's address."""
    hand.follow("HR-20481")
    hand.follow("Refund…")
    hand.fill(hand.page.get_by_label("Send the link to"), "ann@buyer.example")
    create(hand)
    return Decimal(25)


def machine(owner: Desk, settings: Any) -> None:
    to = make_seller(owner.merchant, settings)
    of_transfer(make_machine_transfer(owner.merchant, to, DOLLAR), resource="a report")
    Transfer.objects.update(state=TransferState.CONFIRMED, confirmed_at=NOON)


def late(owner: Desk, settings: Any) -> None:
    del settings
    make_wallet(owner.merchant)
    late_item(merchant=owner.merchant)


def stray(owner: Desk, settings: Any) -> None:
    """Money that a buyer meant for another shop: no checkout of this one fits."""
    del settings
    make_wallet(owner.merchant)
    item = extra_item(merchant=owner.merchant)
    InboxItem.objects.filter(pk=item.pk).update(reason=InboxReason.UNMATCHED, checkout=None)


@dataclass(frozen=True)
class Situation:
    """What was there before, what is asked for and of how much, and in how many clicks and fields that is asked for."""

    prepare: Callable[[Desk, Any], object]
    ask: Callable[[Desk, Hand], Decimal]
    clicks: int
    fields: int = 0


SITUATIONS = {
    "full": Situation(lambda owner, _: paid_checkout(owner), in_full, 3),
    "part": Situation(lambda owner, _: paid_checkout(owner), in_part, 3, 1),
    "overpaid": Situation(lambda owner, _: paid_checkout(owner, 30 * DOLLAR), the_rest, 3),
    "late": Situation(late, of_item, 3),
    "wrong shop": Situation(stray, of_item, 3),
    "x402": Situation(machine, of_machine, 4),
    "exchange": Situation(lambda owner, _: paid_checkout(owner), to_exchange, 3, 1),
}


def approve(hand: Hand, overview: str) -> None:
    """Open what waits from the first page after the login, compare the address, and approve it."""
    hand.page.goto(overview)
    hand.follow("Review it")
    hand.press("Approve")
    expect(hand.page.get_by_text("Approved.")).to_be_visible()


def approve_all(hand: Hand, count: int) -> None:
    """Open the list of what waits, compare its addresses, and approve it."""
    hand.page.wait_for_load_state()
    hand.go("Money", "Payouts")
    hand.press(f"Review all {count}")
    expect(hand.page.get_by_role("heading", name=f"Approve {count} payouts")).to_be_visible()
    hand.press(f"Approve all {count}")
    expect(hand.page.get_by_text(f"{count} approved.")).to_be_visible()


def send_one(hand: Hand) -> None:
    """Freeze the payout whose page is open, and send it from the wallet in the browser."""
    hand.press("Pay…")
    freeze(hand)


def send(hand: Hand) -> None:
    """Freeze everything that is approved, and send it from the wallet in the browser."""
    hand.page.wait_for_load_state()
    hand.go("Money", "Payouts")
    hand.follow("To pay")
    hand.press("Pay the selected")
    freeze(hand)


def freeze(hand: Hand) -> None:
    """Freeze the list for the wallet in the browser, and send it."""
    expect(hand.page.get_by_label("Sign in this browser")).to_be_checked()
    hand.press("Freeze the list")
    sign(hand)


def sign(hand: Hand) -> None:
    """Send what is frozen."""
    hand.press("Send with Test Wallet")
    expect(hand.page.get_by_text("Sent. The payouts are paid once")).to_be_visible()


def settle(street: Street, hand: Hand, *, batches: int = 1) -> None:
    """The chain pays what the wallet sent, for good; it is the newest of so many batches."""
    # The chain's blocks may have an older time than what was asked for.
    Payout.objects.update(created_at=timezone.now() - timedelta(days=365))
    unpaid = list(Payout.objects.exclude(status=PayoutStatus.PAID).values_list("pk", flat=True))
    street.follow()
    assert not Payout.objects.filter(pk__in=unpaid).exclude(status=PayoutStatus.SENDING).exists()
    street.node.mine(CONFIRMATIONS)
    wait_until(street.are_paid)
    hand.page.reload()
    frozen = PayoutBatch.objects.latest("pk").requests.count()
    expect(hand.page.get_by_role("cell", name="Paid", exact=True)).to_have_count(frozen)
    assert len(street.wallet.named("wallet_sendCalls") + street.wallet.named("eth_sendTransaction")) == batches


def seated(open_desk: Callable[..., Page], street: Street) -> Hand:
    """A hand at the first page after the login, with a wallet in the browser."""
    hand = log_in_hand(open_desk, street.owner, "desk")
    street.wallet.install(hand.page)
    hand.page.reload()
    return hand


@pytest.mark.parametrize("name", SITUATIONS)
def test_money_goes_back_in_an_everyday_situation(name: str, street: Street, open_desk: Callable[..., Page]) -> None:
    situation = SITUATIONS[name]
    street.open(situation.prepare)
    hand, had = seated(open_desk, street), balance_of(street.node, USDC, BUYER)
    overview = hand.page.url
    amount = situation.ask(street.owner, hand)
    asked, payout = (hand.clicks, hand.fields), Payout.objects.get()
    assert payout.units == amount * DOLLAR
    set_address(payout, address=BUYER, by=AddressBy.CLAIM, now=timezone.now())
    before = hand.clicks
    approve(hand, overview)
    approved = hand.clicks
    send_one(hand)
    settle(street, hand)
    assert balance_of(street.node, USDC, BUYER) - had == payout.units
    assert (asked, approved - before, hand.clicks - approved) == (
        (situation.clicks, situation.fields),
        APPROVING_ONE,
        PAYING_ONE,
    )


def refunded_once(street: Street, open_desk: Callable[..., Page]) -> tuple[Hand, str]:
    """A hand that has paid the first refund of two, and counts from the overview on; with the overview's address."""
    street.open(lambda owner, _: two_paid_checkouts(owner))
    hand = seated(open_desk, street)
    overview = hand.page.url
    of_checkout(hand)
    set_address(Payout.objects.get(), address=BUYER, by=AddressBy.CLAIM, now=timezone.now())
    approve(hand, overview)
    send_one(hand)
    settle(street, hand)
    hand.page.goto(overview)
    hand.clicks, hand.fields = 0, 0
    return hand, overview


def test_the_next_refund_is_approved_and_paid_from_the_same_wallet_in_six_clicks(
    street: Street, open_desk: Callable[..., Page]
) -> None:
    hand, overview = refunded_once(street, open_desk)
    of_checkout(hand, "7", order="HR-20482")
    payout = Payout.objects.latest("pk")
    set_address(payout, address=BUYER, by=AddressBy.CLAIM, now=timezone.now())
    hand.page.goto(overview)
    hand.follow("Review it")
    hand.press("Approve and pay as before…")
    sign(hand)
    settle(street, hand, batches=2)
    payout.refresh_from_db()
    assert payout.status == PayoutStatus.PAID
    assert (hand.clicks, hand.fields) == (3 + APPROVING_ONE + PAYING_AGAIN, 1)


def test_a_refund_to_an_address_that_the_buyer_told_is_asked_for_approved_and_paid_in_five_clicks(
    street: Street, open_desk: Callable[..., Page]
) -> None:
    """Its page, which follows on the form, shows the address to compare."""
    hand, _ = refunded_once(street, open_desk)
    hand.follow("HR-20482")
    hand.follow("Refund…")
    hand.fill(hand.page.get_by_label("Address of the buyer"), BUYER)
    create(hand, "7")
    hand.press("Approve and pay as before…")
    sign(hand)
    settle(street, hand, batches=2)
    assert Payout.objects.latest("pk").status == PayoutStatus.PAID
    assert (hand.clicks, hand.fields) == (3 + APPROVING_ONE - 1 + PAYING_AGAIN, 2)


def test_fifty_people_are_paid_their_wages(street: Street, open_desk: Callable[..., Page]) -> None:
    street.open(lambda owner, _: make_wallet(owner.merchant))
    hand = seated(open_desk, street)
    people = [f"0x{sha256(str(number).encode()).hexdigest()[:40]}" for number in range(WORKERS)]
    rows = [f"{address},{100 + number},USDC,base,pay-{number}" for number, address in enumerate(people)]
    text = "\n".join(["address,amount,token,chain,reference", *rows])
    hand.go("Money", "Payouts")
    hand.follow("Import CSV")
    hand.fields += 1
    hand.page.get_by_label("CSV file").set_input_files(
        {"name": "wages.csv", "mimeType": "text/csv", "buffer": text.encode()}
    )
    hand.press("Import")
    expect(hand.page.get_by_role("status").filter(has_text=str(WORKERS))).to_be_visible()
    asked = hand.clicks
    assert Payout.objects.filter(status=PayoutStatus.REQUESTED).count() == WORKERS
    approve_all(hand, WORKERS)
    approved = hand.clicks
    send(hand)
    settle(street, hand)
    assert PayoutBatch.objects.count() == 1
    assert ((asked, hand.fields), approved - asked, hand.clicks - approved) == ((4, 1), APPROVING, PAYING)


@pytest.mark.usefixtures("chains_are_well")
def test_the_login_is_counted_apart_and_so_is_the_code_that_a_late_approval_takes(
    open_context: Callable[..., BrowserContext], live_server: Any, time_machine: Any
) -> None:
    key, owner = generate_totp_secret(), make_desk()
    TOTP.activate(owner.user, key)
    payout = make_payout(owner.merchant)
    hand = Hand(open_context(base_url=live_server.url).new_page())
    hand.page.goto(owner.url("dashboard_payout", payout_id=payout.public_id))
    hand.fill(hand.page.get_by_label("E-mail"), owner.user.email)
    hand.fill(hand.page.get_by_label("Password", exact=True), PASSWORD)
    hand.press("Log in")
    hand.fill(hand.page.get_by_label("Code"), totp_code(key))
    hand.press("Log in")
    expect(hand.page.get_by_role("heading", name="To approve")).to_be_visible()
    assert (hand.clicks, hand.fields) == LOGIN
    time_machine.move_to(timezone.now() + timedelta(minutes=11), tick=True)
    hand.press("Approve")
    expect(hand.page.get_by_role("heading", name="Confirm it's you")).to_be_visible()
    hand.fill(hand.page.get_by_label("Code"), totp_code(key))
    hand.press("Continue")
    expect(hand.page.get_by_text("Approved.")).to_be_visible()
    approving = 1
    assert (hand.clicks - LOGIN[0] - approving, hand.fields - LOGIN[1]) == PROOF
