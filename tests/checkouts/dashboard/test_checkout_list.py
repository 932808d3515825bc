"""The list of checkouts and the page of one: who sees what, and what is written."""

import csv
import io
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from accounts.states import Mode, Role
from checkouts.dashboard.checkout_list import listed as list_rows
from checkouts.dashboard.words import CANCELLED, HELD, status_badge
from checkouts.inbox.service import apply_decisions
from checkouts.models import Checkout, CheckoutCount, TerminalSale
from checkouts.states import CheckoutException, CheckoutStatus, InboxAct
from gateway.core.web.lists import NamedDays, span_of
from links.models import LinkCheckout
from settlements.models import Hold
from tests.checkouts.dashboard.opened import listed, page_of
from tests.checkouts.factories import make_completed, make_page_checkout, make_seen, pay
from tests.checkouts.inboxes import DONE, decide, late_item
from tests.checkouts.till.terminals import make_terminal
from tests.checkouts.watcher import DOLLAR
from tests.dashboard.people import Desk, make_desk
from tests.factories import LOCAL_NODES, NOON, WALLET, make_checkout, make_live_chain, make_wallet
from tests.links.factories import make_link
from tests.rates.playing import make_quoted
from tests.totals import rebuild
from wallets.models import Transfer, TransferReturn

pytestmark = pytest.mark.django_db


HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def test_the_list_shows_the_merchants_own_of_the_mode_newest_first(owner: Desk, stranger: Desk) -> None:
    first = make_page_checkout(owner.merchant)
    second = make_completed(merchant=owner.merchant)
    make_page_checkout(owner.merchant, mode=Mode.TEST)
    make_page_checkout()
    assert listed(owner) == [second.public_id, first.public_id]


def test_tabs_count_from_kept_counts(owner: Desk) -> None:
    make_page_checkout(owner.merchant)
    CheckoutCount.objects.filter(merchant=owner.merchant).update(value=1_234_567)
    assert "1234567" in owner.get("dashboard_checkouts").text.replace(",", "")


def test_a_tab_shows_one_status(owner: Desk) -> None:
    make_page_checkout(owner.merchant)
    done = make_completed(merchant=owner.merchant)
    assert listed(owner, "?status=completed") == [done.public_id]
    assert len(listed(owner, "?status=nonsense")) == 2


def test_a_day_counts_whole(owner: Desk) -> None:
    wanted = make_page_checkout(owner.merchant, created_at=NOON)
    make_page_checkout(owner.merchant, created_at=NOON - timedelta(days=1))
    make_page_checkout(owner.merchant, created_at=NOON + timedelta(days=1))
    rebuild(since=NOON.date() - timedelta(days=9), until=NOON.date() + timedelta(days=9))
    day = NOON.date().isoformat()
    assert listed(owner, f"?from={day}&to={day}") == [wanted.public_id]
    assert len(listed(owner, "?from=nonsense&to=9999-12-31")) == 3


def test_pages_stay_where_they_are_while_checkouts_are_made(owner: Desk) -> None:
    made = [make_page_checkout(owner.merchant).public_id for _ in range(60)][::-1]
    first = owner.get("dashboard_checkouts", "?status=pending")
    older = first.context["pager"].older
    make_page_checkout(owner.merchant)
    assert listed(owner, f"?{older}") == made[25:50]
    second = owner.get("dashboard_checkouts", f"?{older}").context["pager"]
    assert listed(owner, f"?{second.older}") == made[50:]
    assert listed(owner, f"?{second.newer}") == made[:25]
    assert "status=pending" in second.newer


def test_a_merchant_without_checkouts_is_shown_how_to_make_one(owner: Desk, viewer: Desk) -> None:
    page = owner.get("dashboard_checkouts").text
    assert "No checkouts yet" in page
    assert "/api/v1/checkouts" in page
    assert owner.url("dashboard_new_checkout") in page
    assert owner.url("dashboard_new_checkout") not in viewer.get("dashboard_checkouts").text


def test_a_file_has_every_checkout_of_the_list(viewer: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.core.api.pagination.CHUNK_ROWS", 2)
    made = [make_page_checkout(viewer.merchant) for _ in range(5)]
    make_page_checkout(viewer.merchant, status=CheckoutStatus.EXPIRED)
    answer = viewer.get("dashboard_checkouts_csv", "?status=pending")
    lines = answer.getvalue().decode("utf-8-sig").splitlines()
    assert lines[0].startswith("id,status,")
    assert [line.split(",")[0] for line in lines[1:]] == [checkout.public_id for checkout in reversed(made)]
    assert answer["Content-Disposition"].startswith("attachment")


def test_the_rows_of_a_file_that_nothing_replaced_add_up_to_what_came(viewer: Desk) -> None:
    item = late_item(before=10 * DOLLAR, merchant=viewer.merchant)
    assert item.checkout is not None
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    successor = Checkout.objects.get(replaces=item.checkout)
    answer = viewer.get("dashboard_checkouts_csv")
    lines = list(csv.DictReader(io.StringIO(answer.getvalue().decode("utf-8-sig"))))
    columns = list(lines[0])
    assert columns[columns.index("replaced_by") :][:3] == ["replaced_by", "terminal", "tip"]
    replaced = {line["id"]: line["replaced_by"] for line in lines}
    assert replaced == {successor.public_id: "", item.checkout.public_id: successor.public_id}
    assert (
        sum(Decimal(line["amount_received"]) for line in lines if not line["replaced_by"]) == successor.amount_received
    )


def test_a_file_names_the_terminal_and_the_tip_of_a_sale(viewer: Desk) -> None:
    make_page_checkout(viewer.merchant)
    terminal, sold = make_terminal(viewer.merchant, Mode.LIVE, name="=Bar"), make_page_checkout(viewer.merchant)
    TerminalSale.objects.create(
        terminal=terminal, checkout=sold, form="f", tip=Decimal("1.25"), created_at=timezone.now()
    )
    lines = list(csv.DictReader(io.StringIO(viewer.get("dashboard_checkouts_csv").getvalue().decode("utf-8-sig"))))
    told = {line["id"]: (line["terminal"], line["tip"]) for line in lines}
    assert told.pop(sold.public_id) == ("'=Bar", "1.25")
    assert [*told.values()] == [("", "")]


def test_what_took_a_sales_late_money_is_found_by_its_terminal_and_link_and_names_its_tip(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant)
    assert item.checkout is not None
    terminal, link = make_terminal(owner.merchant, Mode.LIVE), make_link(owner.merchant, mode=Mode.LIVE)
    TerminalSale.objects.create(
        terminal=terminal, checkout=item.checkout, form="f", tip=Decimal("1.25"), created_at=timezone.now()
    )
    LinkCheckout.objects.create(link=link, checkout=item.checkout, slot="x", attempt=1)
    make_page_checkout(owner.merchant)
    decide(item, InboxAct.ACCEPT_LATE)
    assert apply_decisions(now=DONE) == 1
    successor = Checkout.objects.get(replaces=item.checkout)
    for query in (f"?terminal={terminal.public_id}", f"?link={link.public_id}"):
        assert listed(owner, query) == [successor.public_id, item.checkout.public_id]
        assert listed(owner, f"{query}&status=completed") == [successor.public_id]
        file = io.StringIO(owner.get("dashboard_checkouts_csv", query).getvalue().decode("utf-8-sig"))
        counted = [line for line in csv.DictReader(file) if not line["replaced_by"]]
        assert [(line["id"], line["terminal"], line["tip"]) for line in counted] == [
            (successor.public_id, "Bar", "1.25")
        ]


def test_a_search_that_finds_too_many_says_so_on_any_size_of_page(owner: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkouts.search.MOST_FOUND", 3)
    monkeypatch.setattr("checkouts.dashboard.filters.MOST_FOUND", 3, raising=False)
    for _ in range(4):
        make_page_checkout(owner.merchant, description="Walnut table")
    said = "Only the newest hundred"
    assert said in owner.get("dashboard_checkouts", "?q=walnut").text
    assert said in owner.get("dashboard_checkouts", "?q=walnut&status=expired").text
    assert said not in owner.get("dashboard_checkouts", "?q=oak").text
    assert said not in owner.get("dashboard_checkouts").text


def test_a_file_has_no_cells_that_are_programs(owner: Desk) -> None:
    make_page_checkout(owner.merchant, description='=HYPERLINK("http://x")', order_ref="@SUM(A1)")
    text = owner.get("dashboard_checkouts_csv").getvalue().decode("utf-8-sig")
    assert "\"'=HYPERLINK" in text
    assert ",'@SUM(A1)," in text


def test_a_checkouts_page_shows_what_happened_to_it(owner: Desk) -> None:
    done = make_completed(merchant=owner.merchant)
    page = owner.get("dashboard_checkout", checkout_id=done.public_id)
    transfer = done.payments.get().transfer
    for words in (
        "49.00 USDC seen on Base",
        "49.00 USDC confirmed",
        "Completed",
        f"https://basescan.org/tx/{transfer.tx_hash}",
        "secret-order",
        "secret-note",
        "&quot;livemode&quot;: true",
    ):
        assert words in page.text
    # A network may reverse its payment.
    assert 'hx-trigger="every 10s"' in page.text


def test_the_page_of_a_moving_checkout_asks_until_something_changes(owner: Desk) -> None:
    moving = make_seen(merchant=owner.merchant)
    page = owner.get("dashboard_checkout", checkout_id=moving.public_id)
    seen = page.context["detail"].digest()
    assert f"?seen={seen}" in page.text
    asked = owner.get("dashboard_checkout_live", f"?seen={seen}", checkout_id=moving.public_id)
    assert (asked.status_code, asked.content) == (204, b"")
    moving.status, moving.paid_at = CheckoutStatus.COMPLETED, timezone.now()
    moving.save()
    asked = owner.get("dashboard_checkout_live", f"?seen={seen}", checkout_id=moving.public_id)
    assert "Completed" in asked.text
    assert "<html" not in asked.text


def test_a_page_that_was_left_open_leads_to_the_login_when_that_ended(owner: Desk) -> None:
    checkout = make_seen(merchant=owner.merchant)
    address = owner.url("dashboard_checkout_live", checkout_id=checkout.public_id)
    answer = Client().get(address, headers={"HX-Request": "true"})
    assert answer.content == b""
    assert answer["HX-Redirect"].startswith("/account/login/?next=%2Fdashboard%2F")


def test_what_strangers_write_is_shown_as_text(owner: Desk) -> None:
    checkout = make_page_checkout(
        owner.merchant,
        description=HOSTILE,
        order_ref=HOSTILE,
        customer_ref=HOSTILE,
        metadata='{"note":"</pre><script>alert(1)</script>"}',
        customer_email="",
        redirect_url="javascript:alert(1)",
    )
    pages = [
        owner.get("dashboard_checkouts"),
        owner.client.get(owner.url("dashboard_checkouts"), {"q": HOSTILE}),
        owner.get("dashboard_checkout", checkout_id=checkout.public_id),
    ]
    for page in pages:
        assert "&lt;script&gt;" in page.text
        assert "<script>" not in page.text
        assert "<img src=x" not in page.text
        assert 'href="javascript' not in page.text


def test_who_only_looks_on_sees_no_buyers_address(owner: Desk, viewer: Desk) -> None:
    checkout = make_page_checkout(owner.merchant)
    seen = [desk.get("dashboard_checkout", checkout_id=checkout.public_id).text for desk in (owner, viewer)]
    assert "secret@buyer.example" in seen[0]
    assert "secret@buyer.example" not in seen[1]
    assert "s•••@buyer.example" in seen[1]


@pytest.mark.parametrize("role", Role)
def test_a_plugins_copy_of_a_buyers_address_is_masked_in_metadata_and_body(owner: Desk, role: Role) -> None:
    checkout = make_page_checkout(owner.merchant, metadata='{"buyerEmail":"buyer@shop.example"}')
    page = make_desk(owner.merchant, role).get("dashboard_checkout", checkout_id=checkout.public_id).text
    assert ("buyer@shop.example" in page) == (role != Role.VIEWER)
    assert ("b•••@shop.example" in page) == (role == Role.VIEWER)


def test_metadata_keeps_its_numbers(owner: Desk) -> None:
    checkout = make_page_checkout(owner.merchant, metadata='{"n":1.10,"big":123456789012345678901234567890}')
    page = owner.get("dashboard_checkout", checkout_id=checkout.public_id).text
    assert "&quot;n&quot;: 1.10," in page
    assert "123456789012345678901234567890" in page


def test_the_form_makes_a_checkout_by_the_rules_of_the_api(owner: Desk, settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_live_chain("base")
    make_wallet(owner.merchant)
    form = {"amount": "12.50", "order_ref": "B-7", "expires_in": "3600"}
    answer = owner.post("dashboard_new_checkout", form)
    made = Checkout.objects.get(merchant=owner.merchant)
    assert answer["Location"] == owner.url("dashboard_checkout", checkout_id=made.public_id)
    assert (str(made.amount), made.order_ref, made.mode) == ("12.50", "B-7", Mode.LIVE)
    assert made.expires_at - made.created_at == timedelta(hours=1)
    assert made.test_scenario == ""
    again = owner.post("dashboard_new_checkout", form)
    assert again["Location"] == answer["Location"]
    page = owner.client.get(answer["Location"]).text
    assert f"/c/{made.code}" in page
    assert "QR code of the link" in page


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("amount", "0.05"),
        ("amount", "1e3"),
        ("amount", ""),
        ("redirect_url", "javascript:alert(1)"),
        ("description", "x" * 300),
        ("expires_in", "1"),
    ],
)
def test_what_the_api_refuses_stands_at_its_field(field: str, value: str, owner: Desk) -> None:
    form = {"amount": "12.50", "expires_in": "3600"} | {field: value}
    answer = owner.post("dashboard_new_checkout", form)
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert not Checkout.objects.exists()


def test_without_a_wallet_the_form_says_so(owner: Desk) -> None:
    form = {"amount": "12.50", "expires_in": "3600"}
    answer = owner.post("dashboard_new_checkout", form)
    assert answer.status_code == 409
    assert "receiving wallet" in answer.text


def test_a_test_checkout_plays_what_was_chosen(owner: Desk) -> None:
    desk = make_desk(owner.merchant, Role.ADMIN, Mode.TEST)
    form = {"amount": "5", "expires_in": "900", "test_scenario": "underpaid"}
    assert desk.post("dashboard_new_checkout", form).status_code == 302
    assert Checkout.objects.get().test_scenario == "underpaid"


# What the merchant's pages call statuses.


@pytest.mark.parametrize(
    ("status", "exception", "label"),
    [
        (CheckoutStatus.PROCESSING, CheckoutException.NONE, "Confirming"),
        (CheckoutStatus.COMPLETED, CheckoutException.NONE, "Completed"),
        (CheckoutStatus.COMPLETED, CheckoutException.REVERSED, "Reversed"),
        (CheckoutStatus.EXPIRED, CheckoutException.UNDERPAID, "Expired, part paid"),
    ],
)
def test_an_exception_is_told_where_there_is_one(
    status: CheckoutStatus, exception: CheckoutException, label: str
) -> None:
    assert status_badge(Checkout(status=status, exception=exception)).label == label
    # A payment in doubt is neither confirming nor completed; what was reversed is known to be.
    doubted = status_badge(Checkout(status=status, exception=exception), is_doubted=True).label
    assert doubted == (label if label == "Reversed" else "In doubt")


def test_a_cancelled_checkout_is_called_so_whatever_its_status() -> None:
    expired = Checkout(status=CheckoutStatus.EXPIRED, cancelled_at=NOON)
    assert status_badge(expired) == CANCELLED


@pytest.mark.parametrize("status", CheckoutStatus)
@pytest.mark.parametrize("exception", CheckoutException)
def test_every_checkout_has_a_word(status: CheckoutStatus, exception: CheckoutException) -> None:
    assert status_badge(Checkout(status=status, exception=exception)).label


# Money in escrow.


def test_money_in_escrow_is_marked_in_the_list_and_at_the_status_until_it_is_released(
    owner: Desk, django_assert_num_queries: Any
) -> None:
    held, released = (make_completed(merchant=owner.merchant, escrow=True) for _ in range(2))
    Hold.objects.filter(subject_id=released.public_id).update(released_at=NOON, released_by="api")
    unpaid = make_page_checkout(owner.merchant, escrow=True)
    plain = make_completed(merchant=owner.merchant)
    rows = owner.get("dashboard_checkouts").context["rows"]
    assert [row.public_id for row in rows if row.escrow] == [held.public_id]
    text = " ".join(owner.get("dashboard_checkouts").text.split())
    # In the row, and as a filter.
    assert text.count("Held in escrow") == 2
    for checkout, count in ((held, 2), (unpaid, 1), (plain, 0), (released, 0)):
        # At the status, and in the card about escrow.
        assert page_of(owner, checkout).count("Held in escrow") == count
    with django_assert_num_queries(2):
        list_rows([plain])
    with django_assert_num_queries(3):
        list_rows([plain, held, released])


def test_a_successor_is_held_as_its_predecessor_is(owner: Desk) -> None:
    item = late_item(merchant=owner.merchant, escrow=True)
    decide(item, InboxAct.ACCEPT_LATE)
    apply_decisions(now=DONE)
    successor = Checkout.objects.get(replaces=item.checkout)
    [row] = list_rows([successor])
    assert row.escrow == HELD


# What narrows the list.


def narrowed(desk: Desk, **query: str) -> list[str]:
    """The order references that the list has with some filters."""
    page = desk.client.get(desk.url("dashboard_checkouts"), query)
    assert page.status_code == 200
    return [row.title for row in page.context["rows"]]


def chips_of(desk: Desk, **query: str) -> dict[str, tuple[str, bool]]:
    """The address and state of each chip."""
    page = desk.client.get(desk.url("dashboard_checkouts"), query)
    return {chip.label: (chip.url, chip.is_current) for chip in page.context["chips"]}


def test_a_chip_shows_what_became_of_checkouts(owner: Desk) -> None:
    merchant = owner.merchant
    for name, exception in (("over", CheckoutException.OVERPAID), ("back", CheckoutException.REVERSED)):
        make_completed(merchant=merchant, order_ref=name, exception=exception)
    make_page_checkout(merchant, order_ref="part", status=CheckoutStatus.EXPIRED, exception=CheckoutException.UNDERPAID)
    make_page_checkout(merchant, order_ref="off", status=CheckoutStatus.EXPIRED, cancelled_at=NOON)
    refunded = make_completed(merchant=merchant, order_ref="returned")
    promised = make_completed(merchant=merchant, order_ref="promised")
    for checkout, returned in ((refunded, 1_000_000), (promised, 0)):
        transfer = checkout.payments.get().transfer
        TransferReturn.objects.create(transfer=transfer, units=transfer.units, reserved=1_000_000, returned=returned)
    make_completed(exception=CheckoutException.OVERPAID)
    wanted = {"overpaid": "over", "reversed": "back", "underpaid": "part", "cancelled": "off", "refunded": "returned"}
    for outcome, name in wanted.items():
        assert narrowed(owner, outcome=outcome) == [name]
    assert len(narrowed(owner, outcome="nonsense")) == 6
    assert narrowed(owner, outcome="overpaid", status="expired") == []


def test_a_chip_is_set_and_removed_in_the_address_and_keeps_the_other_filters(owner: Desk) -> None:
    make_completed(merchant=owner.merchant)
    url, is_current = chips_of(owner, status="completed", days="week")["Paid today"]
    assert not is_current
    assert parse_qs(urlsplit(url).query) == {"status": ["completed"], "days": ["today"], "by": ["paid"]}
    url, is_current = chips_of(owner, status="completed", days="today", by="paid")["Paid today"]
    assert is_current
    assert parse_qs(urlsplit(url).query) == {"status": ["completed"]}
    # Days that were typed in give way.
    url, _ = chips_of(owner, **{"from": "2026-11-01", "outcome": "overpaid"})["Paid yesterday"]
    assert parse_qs(urlsplit(url).query) == {"outcome": ["overpaid"], "days": ["yesterday"], "by": ["paid"]}


def paid_at(desk: Desk, moment: datetime, order_ref: str) -> str:
    """The order of a checkout that was paid at a moment."""
    made = make_completed(merchant=desk.merchant, order_ref=order_ref)
    Checkout.objects.filter(pk=made.pk).update(paid_at=moment)
    return order_ref


def test_checkouts_are_listed_by_the_day_on_which_they_were_paid(owner: Desk) -> None:
    now = timezone.now()
    days = {"now": now, "yesterday": now - timedelta(days=1), "long": now - timedelta(days=40)}
    # The newest was paid first.
    for name, moment in reversed(days.items()):
        paid_at(owner, moment, name)
    make_page_checkout(owner.merchant, order_ref="unpaid")
    assert narrowed(owner, by="paid", days="today") == ["now"]
    assert narrowed(owner, by="paid", days="yesterday") == ["yesterday"]
    since = (now - timedelta(days=1)).date().isoformat()
    assert narrowed(owner, **{"by": "paid", "from": since}) == ["now", "yesterday"]
    assert narrowed(owner, by="paid", days="today", to=since) == ["yesterday", "long"]
    assert narrowed(owner, days="today") == ["unpaid", "now", "yesterday", "long"]
    assert len(narrowed(owner, by="paid", days="nonsense")) == 4


def test_pages_of_paid_checkouts_go_by_the_time_of_payment(owner: Desk) -> None:
    now = timezone.now().replace(hour=12)
    made = [paid_at(owner, now - timedelta(minutes=n), str(n)) for n in range(30)]
    first = owner.get("dashboard_checkouts", "?by=paid&days=today")
    assert [row.title for row in first.context["rows"]] == made[:25]
    older = owner.get("dashboard_checkouts", f"?{first.context['pager'].older}")
    assert [row.title for row in older.context["rows"]] == made[25:]
    assert "days=today" in older.context["pager"].newer


@pytest.mark.parametrize(
    ("days", "first", "last"),
    [
        (NamedDays.TODAY, "2026-03-01", "2026-03-01"),
        (NamedDays.YESTERDAY, "2026-02-28", "2026-02-28"),
        (NamedDays.WEEK, "2026-02-23", "2026-03-01"),
        (NamedDays.MONTH, "2026-03-01", "2026-03-01"),
        (NamedDays.LAST_MONTH, "2026-02-01", "2026-02-28"),
    ],
)
def test_named_days_are_counted_from_today(days: NamedDays, first: str, last: str) -> None:
    assert span_of(days, date(2026, 3, 1)) == (date.fromisoformat(first), date.fromisoformat(last))


def test_money_narrows_the_list(owner: Desk) -> None:
    on_base = make_completed(merchant=owner.merchant, order_ref="base")
    elsewhere = make_completed(merchant=owner.merchant, order_ref="polygon", amount=Decimal("60.00"))
    Transfer.objects.filter(payment__checkout=elsewhere).update(chain="polygon", token="USDT")
    assert narrowed(owner, chain="polygon") == ["polygon"]
    assert narrowed(owner, chain="base", token="USDC") == ["base"]
    assert narrowed(owner, chain="base", token="USDT") == []
    for text in ("49", "49.00", "$49", "~50", "40-55", "40 to 55"):
        assert narrowed(owner, amount=text) == ["base"], text
    for text in ("50", "x", "55-40", "1-", "\x00"):
        assert narrowed(owner, amount=text) == [], text
    assert on_base.amount == 49


def test_prices_in_another_currency_narrow_the_list(owner: Desk) -> None:
    make_quoted(owner.merchant, order_ref="euro")
    make_checkout(owner.merchant, order_ref="dollar", amount=Decimal("23.00"))
    assert narrowed(owner, amount="23") == ["dollar", "euro"]
    for text in ("23 EUR", "~22.5 eur", "20-30 EUR", "20 EUR to 23 EUR", "25.03"):
        assert narrowed(owner, amount=text) == ["euro"], text
    for text in ("$23", "22-24 USD"):
        assert narrowed(owner, amount=text) == ["dollar"], text
    for text in ("23 GBP", "20 EUR - 30 GBP"):
        assert narrowed(owner, amount=text) == [], text


def test_a_customer_and_a_link_narrow_the_list(owner: Desk, viewer: Desk) -> None:
    wanted = make_completed(
        merchant=owner.merchant, order_ref="wanted", customer_ref="cus_7", customer_email="Ann@shop.example"
    )
    make_completed(merchant=owner.merchant, order_ref="other", customer_email="ann@shop.example.org")
    Transfer.objects.filter(payment__checkout=wanted).update(sender=WALLET)
    link = make_link(owner.merchant, mode=Mode.LIVE)
    LinkCheckout.objects.create(link=link, checkout=wanted, slot="x", attempt=1)
    for text in ("cus_7", "ann@shop.example", WALLET.lower()):
        assert narrowed(owner, customer=text) == ["wanted"], text
    for text in ("cus_", "ann", "0x", "\x00"):
        assert narrowed(owner, customer=text) == [], text
    assert narrowed(viewer, customer="ann@shop.example") == []
    assert narrowed(owner, link=link.public_id) == ["wanted"]
    for text in (make_link(mode=Mode.LIVE).public_id, make_link(owner.merchant, mode=Mode.TEST).public_id, "\x00"):
        assert narrowed(owner, link=text) == []


def test_any_filters_cost_a_fixed_number_of_queries(owner: Desk, django_assert_max_num_queries: Any) -> None:
    for _ in range(3):
        make_completed(merchant=owner.merchant)
    query = {"outcome": "overpaid", "chain": "base", "amount": "~49", "customer": "secret-customer", "by": "paid"}
    with django_assert_max_num_queries(25):
        narrowed(owner, **query, days="month", status="completed")


def test_a_checkouts_page_begins_with_its_status_and_order_and_folds_the_rest(owner: Desk) -> None:
    done = make_completed(merchant=owner.merchant, order_ref="HR-20481")
    Transfer.objects.filter(payment__checkout=done).update(sender=WALLET)
    page = owner.get("dashboard_checkout", checkout_id=done.public_id)
    text = page.text
    standing = text[text.index('id="standing"') :]
    assert standing.index("Completed") < standing.index("HR-20481") < standing.index("Timeline")
    detail = page.context["detail"]
    assert [offer.chain for offer in detail.used_offers] == ["base"]
    assert [offer.chain for offer in detail.other_offers] == ["polygon"]
    transfer = done.payments.get().transfer
    for value in (done.public_id, transfer.tx_hash, transfer.sender):
        assert f'data-copy="{value}"' in text
    assert [link.words for link in detail.customers] == [
        "Same customer reference",
        "Same e-mail address",
        "Same paying address",
    ]
    for link in detail.customers:
        assert owner.client.get(link.url).status_code == 200


# Which checkouts a text names.


def test_each_key_finds_its_checkout(owner: Desk) -> None:
    wanted = make_page_checkout(owner.merchant, order_ref="A-1", creation_ref="A-1")
    transfer = _paid(wanted)
    make_page_checkout(owner.merchant, order_ref="A-10")
    keys = [
        wanted.public_id,
        wanted.code,
        f"http://shop.example/c/{wanted.code}?lang=de",
        "A-1",
        f"  {transfer.tx_hash} ",
        transfer.tx_hash.upper().replace("0X", "0x"),
        f"https://basescan.org/tx/{transfer.tx_hash}",
        transfer.recipient,
        transfer.recipient.lower(),
    ]
    for key in keys:
        page = owner.client.get(owner.url("dashboard_checkouts"), {"q": key})
        found = [row.public_id for row in page.context["pager"].rows]
        assert found == [wanted.public_id], key


def _paid(checkout: Checkout) -> Any:
    return pay(checkout, confirmations=12)


def test_a_reference_is_found_that_did_not_make_its_checkout(owner: Desk) -> None:
    of_link = make_page_checkout(owner.merchant, order_ref="L-1", creation_ref=None)
    again = make_page_checkout(owner.merchant, order_ref="L-1", creation_ref="again:chk_live_x")
    assert listed(owner, "?q=L-1") == [again.public_id, of_link.public_id]


def test_a_receiving_address_finds_what_was_paid_to_it(owner: Desk) -> None:
    wallet = make_wallet(owner.merchant)
    wanted = make_page_checkout(owner.merchant)
    transfer = _paid(wanted)
    make_page_checkout(owner.merchant)
    transfer.deposit, transfer.wallet = None, wallet
    transfer.save()
    assert listed(owner, f"?q={wallet.address.lower()}") == [wanted.public_id]


@pytest.mark.parametrize("text", ["nobody@buyer.example", "%00", "0x" + "00" * 32, "http://[", "x" * 2000, "0"])
def test_what_names_no_checkout_finds_none(text: str, owner: Desk) -> None:
    make_page_checkout(owner.merchant)
    assert listed(owner, f"?q={text}") == []
    assert "No checkouts match" in owner.get("dashboard_checkouts", f"?q={text}").text


def test_another_merchants_keys_find_nothing(owner: Desk) -> None:
    foreign = make_page_checkout(order_ref="A-1", creation_ref="A-1")
    transfer = _paid(foreign)
    for key in (foreign.public_id, foreign.code, "A-1", transfer.tx_hash):
        assert listed(owner, f"?q={key}") == []
    assert listed(owner, f"?q={transfer.recipient}") == []
