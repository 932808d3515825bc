"""Mails a buyer the address of their own payment page, so that they can go on from another device.

Anybody who has the page may name any address, so a mail holds no words but ours, the merchant's name and the price.
"""

from datetime import datetime
from typing import Final
from uuid import UUID, uuid5

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.translation import gettext

from accounts.brand.facts import brand_of, with_brand
from accounts.states import Mode
from checkouts.models import Checkout
from checkouts.options import takes_money
from checkouts.payloads import checkout_url
from gateway.core.api.errors import RateLimitError
from gateway.core.api.rate_limits import Limit
from gateway.core.web.client_address import client_address
from gateway.core.web.languages import PARAMETER
from gateway.core.web.numbers import readable, readable_price
from gateway.core.web.pages import count_client
from mails.addresses import writable
from mails.models import OutgoingMail
from mails.outbox import queue_unwritten
from mails.words import MailWords

# So that no stranger is flooded: of one client, to one address from everybody, and of one merchant's pages.
_OF_CLIENT: Final = Limit("checkout.mail.client", 10, seconds=86_400)
_TO_ONE: Final = Limit("checkout.mail.recipient", 5, seconds=86_400)
_OF_MERCHANT: Final = Limit("checkout.mail.merchant", 200, seconds=3_600)
# Holds while nothing counts requests, too.
MOST_OF_PAGE: Final = 5
_WAIT_SECONDS: Final = 3_600
_ADDRESSES: Final = UUID("5b0f5d7e-52c1-4a0e-9a53-0d2b1f2f6c11")


def can_mail(checkout: Checkout, *, now: datetime) -> bool:
    """Whether a checkout's page can be mailed: it takes money that is real, and this server sends mail.

    In test mode a leaked key could mail strangers.
    """
    sends = bool(settings.EMAIL_HOST) or not settings.PRODUCTION
    return sends and checkout.mode == Mode.LIVE and takes_money(checkout, now=now)


def mail_page(request: HttpRequest, checkout: Checkout, typed: str, *, language: str, now: datetime) -> bool:
    """Queue the mail to a typed address, once for each address and page; return whether it can be written to.

    `language` is that of the mail. Raises RateLimitError.
    """
    email = writable(typed)
    if not email or not can_mail(checkout, now=now):
        return False
    _count(request, checkout, email)
    prefix = f"page:{checkout.public_id}:"
    with transaction.atomic():
        # One after the other, so that they are counted.
        Checkout.objects.select_for_update(of=("self",)).get(pk=checkout.pk)
        key = f"{prefix}{uuid5(_ADDRESSES, email.casefold())}:{language}"
        sent = OutgoingMail.objects.filter(key__startswith=prefix)
        if sent.count() >= MOST_OF_PAGE and not sent.filter(key=key).exists():
            raise RateLimitError(_WAIT_SECONDS)
        queue_unwritten([(key, email)], now=now)
    return True


def _count(request: HttpRequest, checkout: Checkout, email: str) -> None:
    count_client(client_address(request), _OF_CLIENT, "any")
    count_client("any", _OF_MERCHANT, str(checkout.merchant_id))
    count_client("any", _TO_ONE, email.casefold())


def page_words(subject: str) -> MailWords | None:
    """Return the mail with a page's address; None once nothing can be paid there.

    `subject` is the checkout's id, a digest of the recipient's address, and the language, with colons between them.
    """
    public_id, _, rest = subject.partition(":")
    language = rest.rpartition(":")[2]
    checkout = with_brand(Checkout.objects.filter(public_id=public_id)).first()
    if checkout is None or not can_mail(checkout, now=timezone.now()):
        return None
    url = checkout_url(checkout.code)
    with translation.override(language):
        context = {
            "merchant": brand_of(checkout.merchant).name,
            "price": (
                f"${readable(checkout.amount)}"
                if checkout.price is None
                else f"{readable_price(checkout.price, checkout.currency)} {checkout.currency}"
            ),
            "until": checkout.expires_at,
            "url": f"{url}?{PARAMETER}={language}",
        }
        title = gettext("Your payment to %(merchant)s") % context
        text = render_to_string("checkouts/emails/page.txt", context)
    return MailWords(subject=title, text=text.strip() + "\n")
