"""What the overview adds up, and what it compares that with."""

import re
import secrets
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.states import Mode, Role
from checkouts.amounts import CAPACITY, KEPT_FROM_LINKS
from checkouts.dashboard.attention import LINK_CAPACITY, PARITY, Capacity
from checkouts.models import AmountReservation, Checkout, CheckoutCount, DailyTotal, InboxItem
from checkouts.states import InboxAct, InboxReason
from settlements.models import GasAccount
from settlements.selectors import low_gas
from tests.checkouts import watcher
from tests.checkouts.factories import make_completed, make_expired, pay
from tests.checkouts.inboxes import extra_item, late_for, late_item
from tests.checkouts.watcher import DOLLAR, SOON, shown
from tests.dashboard.inboxes import DECIDE, ITEM, carry_out, decide, reverse_a_payment
from tests.dashboard.machines import make_machine_payment
from tests.dashboard.people import Desk, make_desk
from tests.factories import LOCAL_NODES, NOON, make_checkout, make_key, make_live_chain, make_merchant, make_wallet
from tests.totals import rebuild
from tests.webhooks.factories import make_deliveries, make_endpoint
from wallets.selectors import forget
from webhooks.endpoints.service import disable_endpoint
from webhooks.health import FAILED_TOO_LONG
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db


def sum_up() -> None:
    """Keep the sums of what a test's factories wrote."""
    rebuild(since=date(2020, 1, 1), until=date(2040, 1, 1))


def figures(desk: Desk, query: str = "") -> Any:
    """What the overview shows."""
    page = desk.get("dashboard_overview", query)
    assert page.status_code == 200
    return page.context["figures"]


def make_paid_on(desk: Desk, days_ago: int, amount: str = "10.00") -> Checkout:
    """A checkout that was paid so many days ago, ten seconds after its money was seen."""
    then = timezone.now() - timedelta(days=days_ago)
    checkout = make_completed(merchant=desk.merchant, amount=Decimal(amount), created_at=then)
    checkout.paid_at = then
    checkout.save()
    checkout.payments.update(credited_at=then)
    transfer = checkout.payments.get().transfer
    transfer.detected_at = then - timedelta(seconds=10)
    transfer.save()
    return checkout


def test_the_figures_are_those_of_the_merchants_days(owner: Desk) -> None:
    for amount in ("10.01", "20.00"):
        make_paid_on(owner, 0, amount)
    make_paid_on(owner, 6, "5.00")
    make_paid_on(owner, 7, "1.00")
    make_expired(merchant=owner.merchant)
    make_completed()
    make_completed(merchant=owner.merchant, mode=Mode.TEST)
    sum_up()
    shown = figures(owner, "?days=7")
    assert (shown.now.volume, shown.now.completed) == (Decimal("35.01"), 3)
    assert (shown.now.created, shown.now.conversion) == (4, 75)
    assert shown.before.volume == Decimal("1.00")
    assert [str(day.sums.volume) for day in shown.days][-1] == "30.01"
    chart = owner.get("dashboard_overview", "?days=7").context["chart"]
    # Four lines of ten dollars.
    assert (len(shown.days), chart.days[-1].share, chart.best) == (7, 750, Decimal("30.01"))
    assert chart.ticks == [40, 30, 20, 10, 0]
    assert [(one.chain, one.completed) for one in shown.networks] == [("base", 3)]
    assert shown.speed.median == 10
    assert figures(owner, "?days=90").now.completed == 4
    assert len(figures(owner, "?days=nonsense").days) == 30
    today = figures(owner, "?days=1")
    assert (len(today.days), today.now.completed) == (1, 2)


def test_each_figure_is_compared_with_as_many_days_before(owner: Desk) -> None:
    now = timezone.now()
    for days_ago in (0, 1, 2, 8):
        make_paid_on(owner, days_ago)
    for days_ago, units in ((0, 30_000), (9, 20_000)):
        make_machine_payment(owner.merchant, units, mode=Mode.TEST, now=now - timedelta(days=days_ago))
    sum_up()
    page = owner.get("dashboard_overview", "?days=7")
    shown = page.context["figures"]
    assert (shown.now.completed, shown.before.completed) == (3, 1)
    assert shown.completed_change == 200
    assert shown.volume_change == 200
    assert shown.speed_before.median == 10
    assert "+200.0%" in page.text
    assert "in prior 7 days" in page.text
    owner.mode = Mode.TEST
    chart = owner.get("dashboard_overview", "?days=7").context["chart"]
    assert (chart.machines.count, chart.machines_before.count) == (1, 1)
    assert chart.machines_change == 50


def test_today_is_compared_with_yesterday(owner: Desk) -> None:
    for days_ago in (0, 0, 1):
        make_paid_on(owner, days_ago)
    sum_up()
    page = owner.get("dashboard_overview", "?days=1")
    assert page.context["figures"].completed_change == 100
    assert "vs yesterday" in page.text


def test_latest_payments_come_before_charts(owner: Desk) -> None:
    page = owner.get("dashboard_overview").text
    places = [page.index(f'id="{name}"') for name in ("latest-heading", "chart-heading", "networks-heading")]
    assert places == sorted(places)


def test_nothing_is_compared_with_days_without_payments(owner: Desk) -> None:
    make_paid_on(owner, 0)
    sum_up()
    page = owner.get("dashboard_overview", "?days=7")
    assert page.context["figures"].completed_change is None
    assert page.context["figures"].speed_before is None
    assert "prior 7 days" not in page.text


def test_an_empty_account_has_figures_too(viewer: Desk) -> None:
    page = viewer.get("dashboard_overview")
    assert "No payments yet" in page.text
    assert page.context["figures"].now.conversion is None
    assert "New checkout" not in page.text


def test_figures_cost_the_same_however_many_checkouts_there_are(owner: Desk) -> None:
    make_paid_on(owner, 0)
    sum_up()
    assert DailyTotal.objects.exists()
    owner.get("dashboard_overview")
    # What is remembered for seconds would be asked again by the second of two slow requests.
    forget()
    with CaptureQueriesContext(connection) as few:
        owner.get("dashboard_overview")
    for _ in range(5):
        make_paid_on(owner, 0)
    forget()
    with CaptureQueriesContext(connection) as many:
        owner.get("dashboard_overview")
    assert len(many) == len(few)
    counted = [query["sql"] for query in many if "count(" in query["sql"].lower()]
    assert [sql for sql in counted if 'FROM "checkouts_checkout"' in sql] == []


# What the overview warns of.


def test_a_payment_that_was_taken_back_is_told_first(owner: Desk) -> None:
    reverse_a_payment(owner)
    notices = owner.get("dashboard_overview").context["notices"]
    assert notices[0].heading == "A payment was reversed by the network."
    assert notices[0].tone == "bad"
    # It is not counted among what waits as well.
    assert not [one for one in notices if "in your inbox" in one.heading]


def test_orders_at_risk_on_a_halted_chain_are_told_first_and_listed(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    safe, risked = (make_checkout(owner.merchant) for _ in range(2))
    first, second = watcher.pay(safe), watcher.pay(risked)
    other = watcher.pay(make_checkout(make_merchant("Other")))
    assert first.block_height < second.block_height < other.block_height
    make_live_chain("base", halted_reason="a fork", doubted_above=first.block_height)
    page = owner.get("dashboard_overview")
    notice = page.context["notices"][0]
    assert notice.heading == "Base contradicts what it told us."
    advice = "Do not ship orders paid on Base since 20 Nov, 12:01 UTC (1 payment)."
    assert notice.told.advice == advice
    assert advice in page.text
    assert "No payment is lost" not in page.text
    listed = owner.get("dashboard_checkouts", "?doubt=base").text
    assert risked.public_id in listed
    assert safe.public_id not in listed
    assert advice in listed
    detail = owner.get("dashboard_checkout", checkout_id=risked.public_id).text
    assert "Do not ship this order: Base contradicts what it told us" in detail
    assert "In doubt" in detail
    assert "Completed</span>" not in detail
    assert "In doubt" in listed
    whole = owner.get("dashboard_checkout", checkout_id=safe.public_id).text
    assert "In doubt" not in whole
    [transfer] = shown(risked)["transfers"]
    assert (transfer["in_doubt"], transfer["confirmations"]) == (True, 0)
    # Without a known fork, what came in the hour before is in doubt.
    make_live_chain("base", doubted_above=None, halted_at=SOON + timedelta(minutes=30))
    assert "(2 payments)" in owner.get("dashboard_overview").context["notices"][0].words


PAGES = ("dashboard_checkouts", "dashboard_new_checkout", "dashboard_inbox", "dashboard_payments", "dashboard_team")


@pytest.mark.parametrize(
    ("trouble", "heading"),
    [({"head": 99}, "Base is delayed."), ({"head_at": NOON, "due_at": None}, "Base is not answering.")],
)
def test_each_page_says_that_a_network_is_in_trouble_and_leads_to_the_orders(
    owner: Desk, settings: Any, trouble: dict[str, Any], heading: str
) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    make_live_chain("base", **trouble)
    # Without an order there is nothing to look at.
    assert 'offers=base"' not in owner.get("dashboard_inbox").text
    waiting, ended = make_checkout(owner.merchant), make_expired(merchant=owner.merchant)
    address = f"{owner.url('dashboard_checkouts')}?offers=base"
    for name in PAGES:
        page = owner.get(name).text
        assert page.count(heading) == 1, name
        assert f'href="{address}"' in page, name
    assert owner.get("dashboard_overview").text.count(heading) == 1
    listed = owner.client.get(address).text
    assert listed.count(heading) == 1
    assert waiting.public_id in listed
    assert ended.public_id not in listed
    # Nothing of test mode depends on a network.
    owner.mode = Mode.TEST
    assert heading not in owner.get("dashboard_inbox").text


def test_each_page_says_that_gas_is_empty_where_settlements_wait_for_it(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_live_chain("base")
    GasAccount.objects.create(chain="base", address="0xGas", balance_wei=1, balance_at=NOON, low_told_at=NOON)
    heading = "The gas account on Base is nearly empty."
    assert heading not in owner.get("dashboard_inbox").text
    make_wallet(owner.merchant)
    forget()
    page = owner.get("dashboard_inbox").text
    assert heading in page
    assert f'href="{owner.url("dashboard_settlements")}">See settlements' in page


def test_what_wants_attention_is_told(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    assert "You have no receiving wallet" in owner.get("dashboard_overview").text
    make_wallet(owner.merchant)
    make_live_chain("base", halted_reason="a fork")
    checkout = make_expired(merchant=owner.merchant)
    transfer = pay(checkout)
    checkout.payments.all().delete()
    InboxItem.objects.create(
        merchant=owner.merchant,
        mode=Mode.LIVE,
        transfer=transfer,
        reason=InboxReason.LATE,
        explanation="late",
        created_at=timezone.now(),
    )
    Endpoint.objects.create(
        merchant=owner.merchant,
        mode=Mode.LIVE,
        url="https://shop.example/hook",
        consecutive_failures=9,
        is_default=True,
    )
    # Given up by the merchant, and nothing waits for it: that it fails concerns nobody.
    Endpoint.objects.create(
        merchant=owner.merchant, mode=Mode.LIVE, url="https://shop.example/old", consecutive_failures=9
    )
    headings = [notice.heading for notice in owner.get("dashboard_overview").context["notices"]]
    assert headings == [
        "49.00 USDC waits in your inbox.",
        "The shop's server does not answer our webhooks.",
        "Base contradicts what it told us.",
    ]


def test_the_few_payments_that_wait_are_put_right_from_the_overview(owner: Desk, viewer: Desk) -> None:
    make_wallet(owner.merchant)
    item = late_item(merchant=owner.merchant, order_ref="HR-20399")
    [notice] = _of_inbox(owner)
    assert (notice.heading, notice.label) == ("25.00 USDC waits in your inbox.", "Accept late payment…")
    assert "after HR-20399 expired" in notice.words
    confirmation = owner.client.get(notice.url)
    assert confirmation.context["act"] == InboxAct.ACCEPT_LATE
    assert re.search(r">\s*Accept late payment\s*</button>", confirmation.text)
    # Who may not decide reads about it.
    [notice] = _of_inbox(viewer)
    assert notice.url == viewer.url("dashboard_inbox_item", item_id=item.pk)
    for _ in range(2):
        extra_item(merchant=owner.merchant)
    assert len(_of_inbox(owner)) == 3
    extra_item(merchant=owner.merchant)
    [notice] = _of_inbox(owner)
    assert (notice.heading, notice.label) == ("4 payments wait in your inbox.", "Open the inbox")


def _of_inbox(desk: Desk) -> list[Any]:
    notices = desk.get("dashboard_overview").context["notices"]
    return [one for one in notices if "in your inbox." in one.heading]


def test_the_banner_about_an_endpoint_opens_the_delivery_that_fails(owner: Desk) -> None:
    make_wallet(owner.merchant)
    endpoint = make_endpoint(owner.merchant, consecutive_failures=5, failing_since=NOON)
    older, newer, _untried = make_deliveries(endpoint, 3)
    [notice] = _of_endpoints(owner)
    assert notice.url == owner.url("dashboard_webhooks")
    Delivery.objects.filter(pk__in=[older.pk, newer.pk]).update(tries=4)
    [notice] = _of_endpoints(owner)
    assert (notice.told.since, notice.label) == (NOON, "Open the failing delivery")
    assert notice.url == owner.url("dashboard_delivery", delivery_id=newer.public_id)
    assert "try 5 at" in owner.client.get(notice.url).text


def _of_endpoints(desk: Desk) -> list[Any]:
    notices = desk.get("dashboard_overview").context["notices"]
    return [one for one in notices if one.heading == "The shop's server does not answer our webhooks."]


def test_an_address_that_is_switched_off_is_told_apart_from_one_that_is_still_tried(owner: Desk) -> None:
    make_wallet(owner.merchant)
    endpoint = make_endpoint(owner.merchant, consecutive_failures=9, failing_since=NOON)
    disable_endpoint(endpoint, reason=FAILED_TOO_LONG, now=SOON)
    assert _of_endpoints(owner) == []
    notices = owner.get("dashboard_overview").context["notices"]
    [notice] = [one for one in notices if one.heading == "Webhooks to the shop's server are switched off."]
    assert (notice.told.since, notice.tone, notice.url) == (SOON, "bad", owner.url("dashboard_webhooks"))
    assert "send it once they are switched on again" in notice.words


def test_gas_is_not_used_up_while_another_account_can_pay(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    make_live_chain("base")
    for address, wei in (("0xEmpty", 1), ("0xFull", 10**20)):
        GasAccount.objects.create(chain="base", address=address, balance_wei=wei, balance_at=NOON)
    assert owner.get("dashboard_overview").context["notices"] == []
    assert [one.chain for one in low_gas()] == ["base"], "operators hear of each account"


def test_gas_that_is_nearly_used_up_is_told_to_whom_it_keeps_waiting(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    make_live_chain("base")
    GasAccount.objects.create(chain="base", address="0xGas", balance_wei=1, balance_at=NOON, low_told_at=NOON)
    GasAccount.objects.create(chain="polygon", address="0xGas", balance_wei=1, balance_at=NOON)
    [notice] = owner.get("dashboard_overview").context["notices"]
    assert notice.heading == "The gas account on Base is nearly empty."
    GasAccount.objects.update(balance_wei=10**20)
    assert owner.get("dashboard_overview").context["notices"] == []


def test_a_network_that_is_behind_is_told(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    make_live_chain("base", head_at=timezone.now() - timedelta(seconds=45))
    [notice] = owner.get("dashboard_overview").context["notices"]
    assert notice.heading == "Base is delayed."


def test_what_is_well_is_not_told(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_wallet(owner.merchant)
    make_live_chain("base")
    assert owner.get("dashboard_overview").context["notices"] == []


# Money of a checkout that waits in the inbox is on the checkout's own page, with what can be done about it.


def checkout_page(desk: Desk, item: InboxItem) -> Any:
    """The page of an item's checkout."""
    assert item.checkout is not None
    return desk.get("dashboard_checkout", checkout_id=item.checkout.public_id)


def acts(page: Any) -> list[list[str]]:
    """The acts that are offered, by item, those first that the evidence points to."""
    return [
        [*(deed.act for deed in one.deeds), *(act for act, _ in one.acts)] for one in page.context["detail"].waiting
    ]


def test_an_expired_checkout_with_money_offers_to_accept_it(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    page = checkout_page(owner, item)
    assert acts(page) == [["accept_late", "refunded", "dismiss"]]
    assert owner.url(ITEM, item_id=item.pk) in page.text
    assert f'action="{owner.url(DECIDE, item_id=item.pk)}"' in page.text
    assert "It came 31 min after it expired." in page.text
    [money] = page.context["detail"].waiting
    sure = owner.get(DECIDE, f"?act=accept_late&seen={money.seen}", item_id=item.pk)
    assert "Accept 25.00 USDC that came late?" in sure.text


def test_late_money_that_is_short_is_offered_to_be_accepted_as_paid(owner: Desk) -> None:
    item = late_item(late=20 * DOLLAR, merchant=owner.merchant)
    both = ["accept_late", "refunded", "dismiss"]
    page = checkout_page(owner, item)
    assert acts(page) == [both]
    assert "Accept as paid…" in page.text
    assert item.checkout is not None
    late_for(item.checkout, 5 * DOLLAR)
    page = checkout_page(owner, item)
    assert acts(page) == [both, both]
    assert "Accept late payment…" in page.text
    assert "Accept as paid…" not in page.text


def test_money_that_was_not_needed_and_alarms_are_shown_too(owner: Desk) -> None:
    extra = extra_item(merchant=owner.merchant)
    assert acts(checkout_page(owner, extra)) == [["refunded", "dismiss"]]
    alarm = checkout_page(owner, reverse_a_payment(owner))
    assert acts(alarm) == [["dismiss"]]
    text = " ".join(alarm.text.split())
    assert 'took <span class="number">25.00 USDC</span> on Base back' in text
    assert "waits in your inbox" not in text
    assert "Hold the goods back" in text


def test_what_is_decided_offers_nothing_more_and_then_is_gone(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    decide(owner, item, InboxAct.ACCEPT_LATE)
    page = checkout_page(owner, item)
    assert acts(page) == [[]]
    assert "Being accepted late." in page.text
    carry_out()
    assert acts(checkout_page(owner, item)) == []


def test_a_viewer_sees_the_money_and_no_act(owner: Desk, viewer: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    page = checkout_page(viewer, item)
    assert viewer.url(ITEM, item_id=item.pk) in page.text
    assert "Accept late payment" not in page.text


def test_a_checkout_without_money_in_the_inbox_shows_none(owner: Desk) -> None:
    late_item(merchant=owner.merchant)
    other = make_checkout(owner.merchant)
    page = owner.get("dashboard_checkout", checkout_id=other.public_id)
    assert acts(page) == []
    assert "waiting-" not in page.text


# How many exact amounts of a price are left.


def reservation_of(checkout: Checkout, suffix: int, **overrides: Any) -> Any:
    values = {
        "checkout": checkout,
        "merchant": checkout.merchant,
        "mode": checkout.mode,
        "price": Decimal("25.00"),
        "suffix": suffix,
        "reference": secrets.token_bytes(32),
        "memo": secrets.token_hex(8),
        "reserved_at": checkout.created_at,
    }
    return AmountReservation(**values | overrides)


def reserve_many(desk: Desk, many: int) -> None:
    """Hold so many exact amounts of 25.00 USD."""
    checkouts = [make_checkout(desk.merchant) for _ in range(many)]
    AmountReservation.objects.bulk_create(
        reservation_of(checkout, number) for number, checkout in enumerate(checkouts, start=1)
    )


def test_the_meter_and_the_reservations_keep_the_same_amounts_from_links(owner: Desk) -> None:
    checkout = make_checkout(owner.merchant)
    suffixes = {*range(1, 202), *range(9_900, CAPACITY + 1)}
    AmountReservation.objects.bulk_create(
        reservation_of(checkout, suffix, released_at=timezone.now()) for suffix in suffixes
    )
    odd = AmountReservation.objects.alias(parity=PARITY).filter(parity=1)
    assert set(odd.values_list("suffix", flat=True)) == suffixes & {*KEPT_FROM_LINKS}


@pytest.mark.parametrize(
    ("left", "left_for_links", "is_short"),
    [(2_001, 1_001, False), (2_000, 1_001, True), (9_000, 1_000, True), (0, 0, True)],
)
def test_a_fifth_of_all_or_of_what_links_may_have_is_little(left: int, left_for_links: int, is_short: bool) -> None:
    found = Capacity("25.00", CAPACITY - left, left, left_for_links)
    assert found.is_short is is_short


def test_the_meter_shows_what_is_left_of_a_price_and_warns_before_it_runs_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = make_desk(role=Role.VIEWER)
    assert "Exact amounts" not in desk.get("dashboard_overview").text
    reserve_many(desk, 3)
    reserve_many(make_desk(), 5)
    # Nearly all are left, which nobody needs to read.
    assert desk.get("dashboard_overview").context["capacities"] == []
    monkeypatch.setattr("checkouts.dashboard.attention.SHOWN_FROM", 3)
    page = desk.get("dashboard_overview")
    [found] = page.context["capacities"]
    # 2 is of the half that links may have.
    assert found == ("25.00", 3, 9_996, LINK_CAPACITY - 1)
    assert "9,996 of 9,999" in page.text
    assert "are left" not in page.text
    # Optional chains may have such addresses too.
    assert "new checkouts offer only networks with deposit addresses" in page.text
    monkeypatch.setattr("checkouts.dashboard.attention.SHORT_FROM", 3)
    page = desk.get("dashboard_overview")
    assert "9,996 exact amounts of 25.00 USD are left" in page.text
    assert "Running short" in page.text
    AmountReservation.objects.update(released_at=timezone.now())
    assert not desk.get("dashboard_overview").context["capacities"]


# What the overview asks a new merchant to do.


def test_the_checklist_goes_on_until_all_is_done(owner: Desk, viewer: Desk) -> None:
    tasks = owner.get("dashboard_overview").context["onboarding"].tasks
    assert [task.is_done for task in tasks] == [True, True, *[False] * 5]
    make_wallet(owner.merchant)
    make_key(owner.merchant, Mode.TEST)
    make_completed(merchant=owner.merchant, mode=Mode.TEST)
    _count_completed(owner)
    Endpoint.objects.create(merchant=owner.merchant, mode=Mode.LIVE, url="https://x.example", is_default=True)
    page = owner.get("dashboard_overview")
    assert "6 of 7 done" in page.text
    Authenticator.objects.create(user=owner.user, type=Authenticator.Type.TOTP, data={})
    assert "Set up your account" not in owner.get("dashboard_overview").text
    assert "Set up your account" not in viewer.get("dashboard_overview").text


def _count_completed(desk: Desk) -> None:
    CheckoutCount.objects.filter(merchant=desk.merchant).update(status="completed")


def test_the_first_test_checkout_is_made_in_test_mode(owner: Desk) -> None:
    tasks = owner.get("dashboard_overview").context["onboarding"].tasks
    [task] = [one for one in tasks if "test checkout" in one.label]
    in_test = make_desk(owner.merchant, Role.ADMIN, Mode.TEST)
    assert task.url == in_test.url("dashboard_new_checkout")
