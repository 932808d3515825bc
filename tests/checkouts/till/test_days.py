"""A terminal's day is in the merchant's time zone, has its own sales alone, and its sums are those of paid ones."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from accounts.audit.actors import SYSTEM
from accounts.models import Merchant
from accounts.states import Mode
from checkouts.inbox.service import apply_decisions
from checkouts.lifecycle.endings import cancel_checkout
from checkouts.models import Checkout, Terminal, TerminalSale
from checkouts.states import CheckoutException, InboxAct
from checkouts.testmode import play_due_steps
from checkouts.till import days
from checkouts.till.days import day_of_terminal
from gateway.core.times import today_in
from tests.checkouts.inboxes import DONE, decide, late_item
from tests.checkouts.till.terminals import make_sale, make_terminal, paired_device
from tests.checkouts.watcher import DOLLAR
from tests.factories import NOON

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

DAY = date(2026, 11, 20)


@pytest.fixture
def terminal(merchant: Merchant) -> Terminal:
    """A terminal of test mode."""
    return make_terminal(merchant)


def made_at(sale: TerminalSale, moment: datetime) -> TerminalSale:
    """The sale, as if it had been made then."""
    TerminalSale.objects.filter(pk=sale.pk).update(created_at=moment)
    return sale


def play() -> None:
    """Let test mode pay what is open."""
    while play_due_steps(now=timezone.now() + timedelta(seconds=30)):
        pass


def test_sums_are_of_paid_sales_and_tips_are_a_part_of_them(terminal: Terminal) -> None:
    paid = [make_sale(terminal, "10.00", tip=Decimal("1.50")), make_sale(terminal, "2.50")]
    play()
    open_one, cancelled = make_sale(terminal, "99.00"), make_sale(terminal, "50.00")
    cancel_checkout(cancelled.checkout_id, actor=SYSTEM, now=timezone.now())
    day = day_of_terminal(terminal, timezone.now().date(), UTC)
    assert (day.made, day.paid) == (4, 2)
    [usd] = day.sums
    assert (usd.currency, usd.total, usd.tips, usd.net) == ("USD", Decimal("14.00"), Decimal("1.50"), Decimal("12.50"))
    words = {sale.public_id: sale.badge.label for sale in day.sales}
    assert [words[sale.checkout.public_id] for sale in (*paid, open_one, cancelled)] == [
        "Paid",
        "Paid",
        "Waiting",
        "Cancelled",
    ]
    [network] = day.networks
    assert (network.count, network.received) == (2, "14.00")


@pytest.mark.parametrize(
    ("before", "late", "accepted", "brought"),
    [(0, 25, None, "25.00"), (10, 15, None, "25.00"), (0, 20, Decimal(20), "20.00"), (12, 8, Decimal(20), "20.00")],
)
def test_money_that_a_person_accepted_later_counts_for_the_sale_that_it_paid(
    before: int, late: int, accepted: Decimal | None, brought: str, merchant: Merchant
) -> None:
    item = late_item(before=before * DOLLAR, late=late * DOLLAR, merchant=merchant)
    assert item.checkout is not None
    device = paired_device(make_terminal(merchant, Mode.LIVE))
    TerminalSale.objects.create(
        terminal=device.terminal, checkout=item.checkout, form="late", tip=Decimal("1.00"), created_at=NOON
    )

    def shown() -> tuple[int, Decimal, Decimal, str]:
        day = day_of_terminal(device.terminal, NOON.date(), UTC)
        [sale], [usd] = day.sales, day.sums
        return day.paid, usd.total, usd.tips, sale.badge.label

    where = {"checkout_id": item.checkout.public_id}
    assert shown() == (0, Decimal(0), Decimal(0), "Not paid")
    assert "Do not charge again before you asked" in device.get("till_sale", **where).text
    decide(item, InboxAct.ACCEPT_LATE, accepted=accepted)
    assert apply_decisions(now=DONE) == 1
    assert shown() == (1, Decimal(brought), Decimal("1.00"), "Accepted")
    [network] = day_of_terminal(device.terminal, NOON.date(), UTC).networks
    assert (network.count, network.received) == (1, brought)
    page = device.get("till_sale", **where).text
    assert "Accepted as paid" in page
    assert "Not paid" not in page
    assert "Accepted" in device.get("till_sales").text
    Checkout.objects.filter(replaces=item.checkout).update(exception=CheckoutException.REVERSED)
    assert shown() == (0, Decimal(0), Decimal(0), "Reversed")
    assert "Accepted as paid" not in device.get("till_sale", **where).text


def test_others_sales_are_not_in_it(terminal: Terminal) -> None:
    make_sale(make_terminal(terminal.merchant))
    day = day_of_terminal(terminal, timezone.now().date(), UTC)
    assert (day.made, day.sums[0].total, day.networks) == (0, Decimal(0), [])


@pytest.mark.parametrize(
    ("moment", "zone", "is_in"),
    [
        (datetime(2026, 11, 20, 0, 0, tzinfo=UTC), "UTC", True),
        (datetime(2026, 11, 20, 23, 59, 59, tzinfo=UTC), "UTC", True),
        (datetime(2026, 11, 21, 0, 0, tzinfo=UTC), "UTC", False),
        (datetime(2026, 11, 19, 23, 0, tzinfo=UTC), "Europe/Berlin", True),
        (datetime(2026, 11, 20, 23, 0, tzinfo=UTC), "Europe/Berlin", False),
        (datetime(2026, 11, 21, 4, 59, tzinfo=UTC), "America/New_York", True),
    ],
)
def test_a_day_begins_at_midnight_where_the_merchant_is(
    moment: datetime, zone: str, is_in: bool, terminal: Terminal
) -> None:
    made_at(make_sale(terminal), moment)
    assert day_of_terminal(terminal, DAY, ZoneInfo(zone)).made == int(is_in)


@pytest.mark.parametrize(("zone", "day"), [("UTC", 20), ("Pacific/Auckland", 21), ("America/Los_Angeles", 20)])
def test_today_is_the_merchants(zone: str, day: int) -> None:
    assert today_in(ZoneInfo(zone), now=datetime(2026, 11, 20, 12, 0, tzinfo=UTC)).day == day


def test_a_long_day_is_cut_and_its_sums_are_whole(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(days, "MOST_ROWS", 2)
    for _ in range(3):
        make_sale(terminal, "1.00")
    play()
    day = day_of_terminal(terminal, timezone.now().date(), UTC)
    assert day.is_cut
    assert (len(day.sales), day.made, day.sums[0].total) == (2, 3, Decimal("3.00"))


def test_what_the_network_left_of_a_reversed_sale_is_in_no_sum(terminal: Terminal) -> None:
    sale = make_sale(terminal, "10.00")
    play()
    sale.checkout.exception = "reversed"
    sale.checkout.save(update_fields=["exception"])
    day = day_of_terminal(terminal, timezone.now().date(), UTC)
    assert (day.paid, day.sums[0].total, day.networks) == (0, Decimal(0), [])
