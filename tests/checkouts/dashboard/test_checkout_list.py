"""The list of checkouts and the page of one: who sees what, and what is written."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.states import Mode, Role
from checkouts.lifecycle.totals import rebuild
from checkouts.models import Checkout, CheckoutCount
from checkouts.states import CheckoutStatus
from tests.checkouts.dashboard.opened import listed
from tests.checkouts.factories import make_completed, make_page_checkout, make_seen
from tests.dashboard.people import Desk, make_desk
from tests.factories import LOCAL_NODES, NOON, make_live_chain, make_wallet

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def test_the_list_shows_the_merchants_own_of_the_mode_newest_first(owner: Desk, stranger: Desk) -> None:
    first = make_page_checkout(owner.merchant)
    second = make_completed(merchant=owner.merchant)
    make_page_checkout(owner.merchant, mode=Mode.TEST)
    make_page_checkout()
    assert listed(owner) == [second.public_id, first.public_id]
    assert stranger.get("dashboard_checkouts").status_code == 404


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
    older = first.context["page"].older
    make_page_checkout(owner.merchant)
    assert listed(owner, f"?{older}") == made[25:50]
    second = owner.get("dashboard_checkouts", f"?{older}").context["page"]
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
    monkeypatch.setattr("gateway.core.api.keyset.CHUNK_ROWS", 2)
    made = [make_page_checkout(viewer.merchant) for _ in range(5)]
    make_page_checkout(viewer.merchant, status=CheckoutStatus.EXPIRED)
    answer = viewer.get("dashboard_checkouts_csv", "?status=pending")
    lines = answer.getvalue().decode("utf-8-sig").splitlines()
    assert lines[0].startswith("id,status,")
    assert [line.split(",")[0] for line in lines[1:]] == [checkout.public_id for checkout in reversed(made)]
    assert answer["Content-Disposition"].startswith("attachment")


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


@pytest.mark.parametrize("name", ["dashboard_checkout", "dashboard_checkout_live"])
def test_another_merchants_or_the_other_modes_checkout_is_not_found(name: str, owner: Desk) -> None:
    foreign = make_page_checkout()
    other_mode = make_page_checkout(owner.merchant, mode=Mode.TEST)
    for checkout in (foreign, other_mode):
        assert owner.get(name, checkout_id=checkout.public_id).status_code == 404


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
