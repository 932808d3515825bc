"""Addresses of a link's pages, and signed tokens: a page's form, and a subscriber's personal link."""

from datetime import timedelta
from typing import Final

from django.conf import settings
from django.core.signing import BadSignature, Signer, TimestampSigner

from gateway.core.ids import new_code
from links.models import Subscription

FORM_LASTS: Final = timedelta(hours=24)
_FORM_SALT: Final = "links.form"
_PERSONAL_SALT: Final = "links.personal"


class StaleFormError(Exception):
    """The form was not made by us for this link, or too long ago."""


def new_form(code: str) -> str:
    """Return the form token for a link's code; it stands for one payment."""
    return TimestampSigner(salt=_FORM_SALT).sign(f"{code}.{new_code()}")


def form_name(token: str, code: str) -> str:
    """Return the form's name. Raises StaleFormError if it is of another link, or older than a day."""
    try:
        signed = TimestampSigner(salt=_FORM_SALT).unsign(token, max_age=FORM_LASTS)
    except BadSignature as error:
        raise StaleFormError from error
    of_link, _, name = signed.partition(".")
    if of_link != code:
        raise StaleFormError
    return name


def link_url(code: str) -> str:
    """Return the address of a link's page."""
    return f"{settings.LINK_HOST}/p/{code}"


def personal_url(subscription: Subscription) -> str:
    """Return the page where a subscriber renews; its link is loaded. Everyone with the address sees what is paid."""
    token = Signer(salt=_PERSONAL_SALT).sign(subscription.public_id)
    return f"{link_url(subscription.link.code)}/s/{token}"


def subscription_id_of(token: str) -> str | None:
    """Return the subscription of a personal link; None if the signature is not ours."""
    try:
        return Signer(salt=_PERSONAL_SALT).unsign(token)
    except BadSignature:
        return None
