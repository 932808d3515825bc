"""A link's page over HTTP: what Pay makes, how often, and what a page takes from one client."""

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import orjson
import pytest
import time_machine
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.brand.service import change_branding
from accounts.models import Merchant
from accounts.states import Mode
from checkouts.lifecycle.expiry import expire_due_checkouts
from checkouts.models import AmountReservation, Checkout, InboxItem
from checkouts.reservations import note_exhausted
from checkouts.states import CheckoutStatus, InboxStatus
from checkouts.testmode import play_due_steps
from demo.shop.logo import shop_logo
from links.models import LinkCheckout, PaymentLink, Subscription
from links.selectors import INVOICE_SLOT, kept_checkout, link_object
from links.subscriptions.service import plan_reminders, settle_subscriptions
from links.tokens import new_form, personal_url
from mails.sender import send_due_mails
from settlements.models import Hold
from tests.checkouts.factories import pay
from tests.checkouts.inboxes import DONE, late_item
from tests.contract.client import ApiClient, client_of
from tests.contract.provoking import count_requests
from tests.factories import NOON, make_checkout, make_live_chain, make_merchant, make_wallet
from tests.links.bodies import CUSTOM, created
from tests.links.factories import (
    make_donation,
    make_invoice,
    make_link,
    make_link_checkout,
    make_paid_invoice,
    make_subscriber,
    make_subscription_link,
)
from tests.links.page.pages import MAKERS, path_of
from tests.links.payer import Payer, checkout_behind
from tests.links.subscriptions.paid import path_of as personal_path
from wallets.models import TransferReturn

pytestmark = pytest.mark.django_db


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


@pytest.mark.parametrize("kind", ["custom", "invoice"])
def test_a_press_on_a_network_leads_to_what_is_to_be_paid_there(payer: Payer, kind: str) -> None:
    path = path_of(MAKERS[kind]())

    def press(chain: str, token: str) -> Checkout:
        answer = payer.press(f"{path}?lang=de", chain=chain)
        checkout = checkout_behind(answer)
        assert answer["Location"] == f"/c/{checkout.code}?chain={chain}&token={token}&lang=de"
        return checkout

    press("polygon", "USDC")
    checkout = press("tron", "USDT")
    # The exact amount is held already, so that nothing has to be pressed again.
    assert AmountReservation.objects.get().checkout == checkout
    assert "Show the exact amount" not in payer.look(f"/c/{checkout.code}?chain=tron")


@pytest.mark.parametrize("chain", ["", "bitcoin", "<script>", "base&x=\x00"])
def test_a_network_that_is_not_offered_leads_to_the_page_all_the_same(payer: Payer, chain: str) -> None:
    answer = payer.press(path_of(make_link()), chain=chain)
    assert answer["Location"] == f"/c/{checkout_behind(answer).code}"


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


@pytest.mark.parametrize("text", ["25.50", " 25,50 ", "$25.50", "25.5", "٢٥٫٥", "۲۵،۵۰", "२५.५", "２５，５０"])
def test_a_donor_may_write_the_amount_as_people_do(payer: Payer, text: str) -> None:
    checkout = payer.pay(path_of(make_donation()), amount=text)
    assert checkout.amount == Decimal("25.50")


@pytest.mark.parametrize(
    "text", ["", "4.99", "500.01", "1,000", "ten", "-5", "1e2", "٢", "١٬٠٠٠", "²⁵", "\x00", "9" * 400]
)
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
    count_requests(58)
    payer.look(path)
    assert payer.client.get(path).status_code == 429
    assert payer.press(path, form).status_code == 303
    count_requests(18)
    assert [payer.press(path, form).status_code for _ in range(2)] == [303, 429]
    elsewhere = Client(REMOTE_ADDR="203.0.113.9")
    assert Payer(elsewhere).press(path).status_code == 303
    assert payer.client.get(path_of(make_link())).status_code == 200


@pytest.mark.usefixtures("still_window")
def test_one_client_may_pay_sixty_times_a_minute_on_all_links_together(payer: Payer) -> None:
    links = [make_link() for _ in range(4)]
    forms = [payer.form(path_of(link)) for link in links]
    asked = [(path_of(link), form) for link, form in zip(links, forms, strict=True)]
    assert [payer.press(path, form).status_code for path, form in asked] == [303] * 4
    # Of all links together 56 of 60, of each link far from all 20.
    count_requests(52, "link.pay.anywhere")
    assert [payer.press(path, form).status_code for path, form in asked] == [303] * 4
    assert [payer.press(path, form).status_code for path, form in asked] == [429] * 4


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


# Links of a closed merchant account take no payments, and do again once it is reopened.


def close(link: PaymentLink) -> None:
    """Close the account of the link's merchant."""
    Merchant.objects.filter(pk=link.merchant_id).update(closed_at=timezone.now())


@pytest.mark.parametrize("make", [make_link, make_invoice, make_donation, make_subscription_link])
@pytest.mark.parametrize("language", ["en", "de"])
def test_the_page_says_that_no_payments_are_taken(make: type[PaymentLink], language: str, client: Client) -> None:
    link = make()
    close(link)
    text = Payer(client).look(f"/p/{link.code}?lang={language}")
    said = {"en": "This link is paused", "de": "Dieser Link ist pausiert"}
    assert said[language] in text
    assert 'name="form"' not in text


def test_a_form_opened_before_makes_nothing(client: Client) -> None:
    payer, link = Payer(client), make_link()
    form = payer.form(f"/p/{link.code}")
    close(link)
    answer = payer.press(f"/p/{link.code}", form)
    assert (answer.status_code, Checkout.objects.count()) == (200, 0)
    assert "This link is paused" in answer.content.decode()
    Merchant.objects.update(closed_at=None)
    payer.pay(f"/p/{link.code}", form)


def test_a_paid_invoice_still_says_that_it_is_paid(client: Client) -> None:
    link = make_paid_invoice()
    before = Payer(client).look(f"/p/{link.code}")
    close(link)
    assert Payer(client).look(f"/p/{link.code}") == before


def test_subscribers_are_not_reminded() -> None:
    subscription = make_subscriber(email="ines@halden.example")
    settle_subscriptions(now=timezone.now())
    subscription.refresh_from_db()
    assert subscription.paid_until
    due = subscription.paid_until - timedelta(days=1)
    close(subscription.link)
    assert plan_reminders(now=due) == 0
    Merchant.objects.update(closed_at=None)
    assert plan_reminders(now=due) == 1


# Links whose payments are held in escrow.


def test_a_link_in_escrow_makes_checkouts_in_escrow(tester: ApiClient, payer: Payer) -> None:
    link = created(tester, CUSTOM | {"escrow": True})
    assert link["escrow"] is True
    path = f"/p/{link['url'].rpartition('/')[2]}"
    # What money cannot wait in is not offered.
    page = payer.look(path)
    assert "Polygon" in page
    assert "Solana" not in page
    checkout = payer.pay(path)
    assert checkout.escrow
    assert set(checkout.offers) == {"base", "polygon"}
    assert Hold.objects.get().subject_id == checkout.public_id
    changed = tester.send("PATCH", f"/links/{link['id']}", {"title": "Coffee"})
    assert changed.body["escrow"] is True
    changed = tester.send("PATCH", f"/links/{link['id']}", {"escrow": False})
    assert changed.body["escrow"] is False
    assert not payer.pay(path).escrow


def test_a_link_in_escrow_says_that_nobody_can_pay_without_a_forwarder(payer: Payer) -> None:
    link = make_link(mode=Mode.LIVE, escrow=True)
    make_wallet(link.merchant, "ethereum")
    assert 'name="chain"' not in payer.look(f"/p/{link.code}")
    link.escrow = False
    link.save()
    assert 'name="chain" value="ethereum"' in payer.look(f"/p/{link.code}")


# When links ran out of exact amounts, their checkouts do without those chains, and nobody else's.


EXACT = {"solana", "ton", "tron", "ethereum"}


@pytest.mark.django_db
def test_only_checkouts_of_links_do_without_exact_amounts() -> None:
    merchant = make_merchant()
    link = make_link(merchant)
    assert link.amount is not None
    payer, path = Payer(Client()), f"/p/{link.code}"
    before = payer.pay(path)
    assert set(before.offers) > EXACT
    note_exhausted(merchant.pk, Mode.TEST, link.amount, now=timezone.now(), for_links=True)
    assert EXACT.isdisjoint(payer.pay(path).offers)
    made = client_of(merchant, Mode.TEST).created(amount=str(link.amount))
    assert {option["chain"] for option in made["available_chains"]} > EXACT


# Links in a merchant's own look: the name that payers read on every face, in mails and in what is shared.


LEGAL = "Halden Coffee Trading GmbH"
FACES: dict[str, Callable[[Merchant], PaymentLink]] = {
    "custom": make_link,
    "invoice": make_invoice,
    "donation": make_donation,
    "subscription": make_subscription_link,
    "paid": make_paid_invoice,
    "paused": lambda merchant: make_link(merchant, status="paused"),
    "archived": lambda merchant: make_link(merchant, status="archived"),
}


@pytest.fixture
def branded() -> Merchant:
    """A merchant whose pages call it Halden."""
    merchant = make_merchant(LEGAL)
    change_branding(
        merchant,
        changes={
            "display_name": "Halden",
            "logo": shop_logo(),
            "accent": "#0b6e4f",
            "support_url": "https://halden.example/help",
            "terms_url": "https://halden.example/terms",
        },
        now=NOON,
    )
    return merchant


@pytest.mark.parametrize("face", FACES)
def test_every_face_has_the_merchants_name_and_colours(face: str, branded: Merchant, client: Client) -> None:
    text = client.get(f"/p/{FACES[face](branded).code}").content.decode()
    assert "Halden" in text
    assert LEGAL not in text
    assert f'href="/brand/{branded.public_id}/' in text


@pytest.mark.parametrize("face", FACES)
def test_every_face_has_the_logo_and_the_links(face: str, branded: Merchant, payer: Payer) -> None:
    status = 410 if face == "archived" else 200
    text = payer.look(f"/p/{FACES[face](branded).code}", status)
    assert f'<img src="/brand/{branded.public_id}/' in text
    for words, address in (("Need help?", "help"), ("Terms", "terms")):
        assert words in text
        assert f'href="https://halden.example/{address}"' in text
    assert text.count('rel="noreferrer noopener"') == 2


def test_a_link_without_branding_has_nothing_of_it(payer: Payer) -> None:
    text = payer.look(f"/p/{make_link().code}")
    assert "/brand/" not in text
    assert "Need help?" not in text


def test_what_is_shared_and_mailed_carries_the_shown_name(branded: Merchant) -> None:
    link = make_subscription_link(branded)
    assert "by Halden," in link_object(link)["share_text"]
    make_subscriber(link, email="ada@example.test")
    assert settle_subscriptions(now=timezone.now()) == 1
    send_due_mails(now=timezone.now())
    [sent] = mail.outbox
    assert "by Halden is paid" in sent.body
    assert LEGAL not in sent.body


# A payer who came too late finds the way back to the link, where a fresh checkout is made.


@pytest.fixture
def late_payer(client: Client, settings: Any) -> Payer:
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "http://127.0.0.1:1"}
    make_live_chain("base")
    return Payer(client)


def expire(checkout: Checkout) -> None:
    """Let the time to pay pass, with the chain read beyond it."""
    Checkout.objects.update(expires_at=timezone.now() - timedelta(minutes=10))
    make_live_chain("base", read_through_at=timezone.now())
    expire_due_checkouts(now=timezone.now())
    checkout.refresh_from_db()
    assert checkout.status == CheckoutStatus.EXPIRED


def test_an_expired_checkout_leads_back_to_its_link(late_payer: Payer) -> None:
    merchant = make_merchant()
    make_wallet(merchant)
    link = make_link(merchant)
    first = late_payer.pay(f"/p/{link.code}")
    assert "Start again" not in late_payer.look(f"/c/{first.code}")
    expire(first)
    text = late_payer.look(f"/c/{first.code}")
    assert f'href="{first.again_url}"' in text
    assert first.again_url.endswith(f"/p/{link.code}")
    assert "Start again to get a new one" in text
    assert late_payer.pay(f"/p/{link.code}") != first


def test_a_subscriber_is_led_back_to_the_personal_page(late_payer: Payer) -> None:
    merchant = make_merchant()
    make_wallet(merchant)
    link = make_subscription_link(merchant)
    stranger = late_payer.pay(f"/p/{link.code}")
    assert stranger.again_url.endswith(f"/p/{link.code}")
    subscription = Subscription.objects.get()
    personal = personal_url(subscription)
    # What the link's own page began is gone on with.
    assert late_payer.pay(personal_path(subscription)) == stranger
    expire(stranger)
    known = late_payer.pay(personal_path(subscription))
    assert known != stranger
    assert known.again_url == personal


def test_an_invoice_whose_money_came_in_part_asks_for_no_price_until_the_merchant_changes_it(payer: Payer) -> None:
    link = make_invoice()
    partly = make_link_checkout(link, CheckoutStatus.EXPIRED, amount_received=Decimal(20))
    for response in (payer.client.get(f"{path_of(link)}?lang=de"), payer.press(path_of(link), new_form(link.code))):
        assert checkout_behind(response) == partly
        assert response["Cache-Control"] == "no-store"
    assert "Don't send the rest" in payer.look(f"/c/{partly.code}")
    assert Checkout.objects.count() == 1
    PaymentLink.objects.update(amount=Decimal(5))
    rest = payer.pay(path_of(link))
    assert (rest.amount, Checkout.objects.count()) == (Decimal(5), 2)


def test_an_invoice_leads_to_late_money_of_an_earlier_attempt_until_that_is_decided(payer: Payer) -> None:
    link = make_invoice(mode=Mode.LIVE)
    item = late_item(merchant=link.merchant)
    assert item.checkout is not None
    later = make_checkout(link.merchant, status=CheckoutStatus.EXPIRED)
    for attempt, checkout in enumerate((item.checkout, later), start=1):
        LinkCheckout.objects.create(link=link, checkout=checkout, slot=INVOICE_SLOT, attempt=attempt)
    assert checkout_behind(payer.press(path_of(link), new_form(link.code))) == item.checkout
    assert kept_checkout(link) == item.checkout
    InboxItem.objects.update(status=InboxStatus.DISMISSED, resolved_at=DONE)
    assert kept_checkout(link) is None


def test_money_that_was_sent_back_as_a_whole_keeps_no_invoice_closed(payer: Payer) -> None:
    link = make_invoice(mode=Mode.LIVE)
    checkout = make_link_checkout(link, CheckoutStatus.EXPIRED)
    transfer = pay(checkout, 10_000_000, confirmations=12)
    kept = TransferReturn.objects.create(transfer=transfer, units=10_000_000, reserved=10_000_000, returned=9_999_999)
    assert kept_checkout(link) == checkout
    kept.returned = 10_000_000
    kept.save()
    assert kept_checkout(link) is None


def test_a_form_sent_again_after_its_money_came_in_part_leads_there_and_another_form_does_not(payer: Payer) -> None:
    path = path_of(make_link())
    form = payer.form(path)
    first = payer.pay(path, form)
    Checkout.objects.update(status=CheckoutStatus.EXPIRED, amount_received=Decimal(20))
    assert payer.pay(path, form) == first
    assert payer.pay(path) != first


@pytest.mark.parametrize("status", [CheckoutStatus.PROCESSING, CheckoutStatus.UNDERPAID, CheckoutStatus.EXPIRED])
def test_a_personal_page_goes_on_with_the_first_payment_whose_money_came(payer: Payer, status: CheckoutStatus) -> None:
    subscription = make_subscriber(paid=False)
    first = make_link_checkout(subscription.link, status, subscription=subscription, amount_received=Decimal(20))
    assert payer.pay(personal_path(subscription)) == first
    assert Checkout.objects.count() == 1


def test_where_part_of_the_money_came_nobody_is_asked_to_begin_again(late_payer: Payer) -> None:
    url = "https://pay.example/p/abc"
    checkout = make_link_checkout(make_link(), CheckoutStatus.EXPIRED, amount_received=1, again_url=url)
    text = late_payer.look(f"/c/{checkout.code}")
    assert "Start again" not in text
    assert url not in text


def test_a_checkout_of_no_link_leads_nowhere(late_payer: Payer) -> None:
    checkout = make_link_checkout(make_link(), CheckoutStatus.EXPIRED)
    assert checkout.again_url == ""
    assert "Start again" not in late_payer.look(f"/c/{checkout.code}")
