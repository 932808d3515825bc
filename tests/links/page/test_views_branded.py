"""Links in a merchant's own look: the name that payers read on every face, in mails and in what is shared."""

from collections.abc import Callable

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.brand.service import change_branding
from accounts.models import Merchant
from demo.shop.logo import shop_logo
from links.models import PaymentLink
from links.selectors import link_object
from links.subscriptions.service import settle_subscriptions
from mails.sender import send_due_mails
from tests.factories import NOON, make_merchant
from tests.links.factories import (
    make_donation,
    make_invoice,
    make_link,
    make_paid_invoice,
    make_subscriber,
    make_subscription_link,
)
from tests.links.payer import Payer

pytestmark = pytest.mark.django_db

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
