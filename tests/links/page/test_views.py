"""A link's page over HTTP: what Pay makes, how often, and what a page takes from one client."""

import re
from datetime import timedelta
from decimal import Decimal

import orjson
import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from checkouts.testmode.service import play_due_steps
from links.models import LinkCheckout
from tests.contract.client import ApiClient
from tests.factories import make_live_chain, make_merchant, make_wallet
from tests.links.factories import make_donation, make_invoice, make_link
from tests.links.page.pages import MAKERS, path_of
from tests.links.payer import Payer, checkout_behind

FILLED = {"donation": {"amount": "25.00"}}


@pytest.mark.parametrize("kind", MAKERS)
def test_pay_makes_a_checkout_and_leads_there(payer: Payer, kind: str) -> None:
    link = MAKERS[kind](
        redirect_url="https://shop.example/done",
        webhook_url="https://shop.example/hook",
        customer_ref="secret-customer",
        product_ref="workshop",
    )
    checkout = payer.pay(path_of(link), **FILLED.get(kind, {}))
    assert checkout.public_id.startswith("chk_test_")
    assert (checkout.amount, checkout.description) == (Decimal("25.00"), link.title)
    assert checkout.redirect_url == "https://shop.example/done"
    assert checkout.webhook_url == "https://shop.example/hook"
    assert (checkout.product_ref, checkout.order_ref) == ("workshop", "")
    metadata = orjson.loads(checkout.metadata)
    assert metadata.pop("subscription_id", "sub_").startswith("sub_")
    assert metadata == {"note": "secret-note", "link_id": link.public_id}


@pytest.mark.parametrize("kind", MAKERS)
def test_only_an_invoice_names_its_customer(payer: Payer, kind: str) -> None:
    link = MAKERS[kind](customer_ref="ada")
    checkout = payer.pay(path_of(link), **FILLED.get(kind, {}))
    assert checkout.customer_ref == ("ada" if kind == "invoice" else "")


def test_an_order_ref_in_the_metadata_makes_no_two_payers_one(payer: Payer) -> None:
    link = make_link(metadata='{"order_id":"77"}')
    one, other = (payer.pay(path_of(link)) for _ in range(2))
    assert one != other
    assert (one.order_ref, one.creation_ref) == ("77", None)


@pytest.mark.parametrize("kind", ["custom", "donation", "subscription"])
def test_the_same_form_makes_one_checkout_however_often_it_is_sent(payer: Payer, kind: str) -> None:
    path = path_of(MAKERS[kind]())
    form, filled = payer.form(path), FILLED.get(kind, {})
    made = {payer.pay(path, form, **filled).pk for _ in range(3)}
    assert len(made) == 1
    assert payer.pay(path, **filled).pk not in made
    assert Checkout.objects.count() == LinkCheckout.objects.count() == 2


def test_going_back_to_give_another_amount_makes_another_checkout(payer: Payer) -> None:
    path = path_of(make_donation())
    form = payer.form(path)
    amounts = [payer.pay(path, form, amount=text).amount for text in ("10", "12.5", "10")]
    assert amounts == [Decimal(10), Decimal("12.50"), Decimal(10)]
    assert Checkout.objects.count() == 2


def test_a_form_sent_again_after_its_checkout_expired_makes_a_fresh_one(payer: Payer) -> None:
    path = path_of(make_link())
    form = payer.form(path)
    first = payer.pay(path, form)
    Checkout.objects.filter(pk=first.pk).update(status=CheckoutStatus.EXPIRED)
    second = payer.pay(path, form)
    assert second != first
    assert payer.pay(path, form) == second
    assert list(LinkCheckout.objects.values_list("attempt", flat=True).order_by("pk")) == [1, 2]


def test_everybody_who_pays_an_invoice_gets_the_same_checkout(payer: Payer) -> None:
    link = make_invoice()
    first = payer.pay(path_of(link))
    assert Payer(Client()).pay(path_of(link)) == first
    assert Checkout.objects.count() == 1
    Checkout.objects.update(status=CheckoutStatus.EXPIRED)
    assert payer.pay(path_of(link)) != first


@pytest.mark.parametrize("path", ["/p/unknown", "/p/", "/p/UPPER", "/p/x/s/y", "/pay/unknown"])
def test_what_names_no_link_is_not_found(payer: Payer, path: str) -> None:
    assert payer.client.get(path).status_code == 404


@pytest.mark.parametrize("text", ["25.50", " 25,50 ", "$25.50", "25.5"])
def test_a_donor_may_write_the_amount_as_people_do(payer: Payer, text: str) -> None:
    checkout = payer.pay(path_of(make_donation()), amount=text)
    assert checkout.amount == Decimal("25.50")


@pytest.mark.parametrize("text", ["", "4.99", "500.01", "1,000", "ten", "-5", "1e2", "٢٥", "\x00", "9" * 400])
def test_an_amount_outside_the_range_is_explained_and_kept(payer: Payer, text: str) -> None:
    link = make_donation()
    response = payer.press(path_of(link), amount=text)
    assert response.status_code == 400
    page = response.content.decode()
    assert "Enter an amount from $5.00 to $500.00" in page
    assert 'aria-invalid="true"' in page
    assert not Checkout.objects.exists()


def test_a_form_of_another_link_or_of_nobody_makes_nothing(payer: Payer) -> None:
    link, other = make_link(), make_link()
    for form in ("", "nonsense", payer.form(path_of(other)), payer.form(path_of(link))[:-1]):
        response = payer.press(path_of(link), form)
        assert response.status_code == 400
        assert "Press the button again" in response.content.decode()
    assert not Checkout.objects.exists()


def test_a_form_is_good_for_a_day(payer: Payer) -> None:
    link = make_link()
    opened = timezone.now()
    form = payer.form(path_of(link))
    with time_machine.travel(opened + timedelta(hours=24, minutes=1)):
        assert payer.press(path_of(link), form).status_code == 400
    with time_machine.travel(opened + timedelta(hours=23)):
        payer.pay(path_of(link), form)


def test_a_live_link_makes_live_checkouts(tester: ApiClient, payer: Payer) -> None:
    merchant = make_merchant()
    make_live_chain("base", head_time=timezone.now())
    make_wallet(merchant)
    link = make_link(merchant, mode=Mode.LIVE)
    assert "Test mode" not in payer.look(path_of(link))
    assert payer.pay(path_of(link)).mode == Mode.LIVE


def test_titles_are_shown_and_never_run(payer: Payer) -> None:
    link = make_link(title="<script>alert(1)</script>", description="<b>x</b>")
    text = payer.look(path_of(link))
    assert "<script" not in text
    assert "&lt;b&gt;x" in text


def test_pages_have_the_checkout_pages_policy_and_are_not_kept(payer: Payer) -> None:
    response = payer.client.get(path_of(make_link()))
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "form-action 'self'" in policy
    assert response["Cache-Control"] == "no-store"
    assert response["Referrer-Policy"] == "no-referrer"
    assert "X-Frame-Options" not in response
    assert "<script" not in response.content.decode()


@pytest.mark.usefixtures("still_window")
def test_one_client_may_look_sixty_times_a_minute_and_pay_twenty_times(payer: Payer) -> None:
    path = path_of(make_link())
    form = payer.form(path)
    for _ in range(59):
        payer.look(path)
    assert payer.client.get(path).status_code == 429
    answers = [payer.press(path, form).status_code for _ in range(21)]
    assert answers == [303] * 20 + [429]
    elsewhere = Client(REMOTE_ADDR="203.0.113.9")
    assert Payer(elsewhere).press(path).status_code == 303
    assert payer.client.get(path_of(make_link())).status_code == 200


@pytest.mark.usefixtures("still_window")
def test_one_client_may_pay_sixty_times_a_minute_on_all_links_together(payer: Payer) -> None:
    links = [make_link() for _ in range(4)]
    forms = [payer.form(path_of(link)) for link in links]
    answers = [
        payer.press(path_of(link), form).status_code for link, form in zip(links, forms, strict=True) for _ in range(16)
    ]
    assert answers == [303] * 60 + [429] * 4


def test_only_the_methods_of_a_page_are_answered(payer: Payer) -> None:
    path = path_of(make_link())
    assert payer.client.head(path).status_code == 200
    for method in (payer.client.put, payer.client.delete, payer.client.patch):
        assert method(path).status_code == 405


def test_a_link_is_paid_and_its_counts_follow(tester: ApiClient, payer: Payer) -> None:
    link = tester.post("/links", {"title": "Tea", "amount": "25"}).body
    path = re.sub(r"^\w+://[^/]+", "", link["url"])
    checkout = payer.pay(path)
    later = timezone.now() + timedelta(seconds=6)
    play_due_steps(now=later)
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.COMPLETED
    body = tester.get(f"/links/{link['id']}").body
    assert (body["payments_count"], body["amount_collected"]) == (1, "25.000000")
    [event] = tester.get("/events").body["data"]
    assert event["type"] == "checkout.completed"
    assert event["data"]["metadata"] == {"link_id": link["id"]}


def test_an_invoice_closes_itself_when_it_is_paid(tester: ApiClient, payer: Payer) -> None:
    link = tester.post("/links", {"title": "Tea", "amount": "25", "type": "invoice"}).body
    path = re.sub(r"^\w+://[^/]+", "", link["url"])
    payer.pay(path)
    play_due_steps(now=timezone.now() + timedelta(seconds=6))
    assert "This invoice is paid" in payer.look(path)
    assert tester.get(f"/links/{link['id']}").body["status"] == "active"


def test_an_invoice_nobody_paid_in_time_can_be_paid_again(payer: Payer) -> None:
    link = make_invoice()
    first = payer.pay(path_of(link))
    Checkout.objects.filter(pk=first.pk).update(test_scenario="expired")
    first.test_steps.all().delete()
    expire_due_checkouts(now=first.expires_at + timedelta(minutes=2))
    first.refresh_from_db()
    assert first.status == CheckoutStatus.EXPIRED
    second = checkout_behind(payer.press(path_of(link)))
    assert second != first
