"""Parser of waitlist requests."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from accounts.models import COMPANY_LENGTH, COUNTRY_LENGTH, EMAIL_LENGTH
from accounts.waitlist.service import Interest
from gateway.core import json
from gateway.core.api.fields import missing, refuse, text_in
from gateway.core.money import ENDLESS, parse_usd
from mails.addresses import writable

Body = Mapping[str, Any]


def parse_interest(body: Body) -> Interest:
    """Read the body of `POST /waitlist/fiat`. Raises InvalidRequestError naming the parameter."""
    return Interest(
        email=_email(body),
        company=text_in(body, "company", COMPANY_LENGTH).strip(),
        country=text_in(body, "country", COUNTRY_LENGTH).strip(),
        monthly_volume=_monthly_volume(body),
    )


def _email(body: Body) -> str:
    value = text_in(body, "email", EMAIL_LENGTH).strip()
    if not value:
        raise missing("email")
    if not writable(value):
        raise refuse("email", "email is not an e-mail address.")
    name, _, host = value.rpartition("@")
    # A few letters have more characters in lower case, such as the Turkish "İ".
    return text_in({"email": f"{name}@{host.lower()}"}, "email", EMAIL_LENGTH)


def _monthly_volume(body: Body) -> Decimal | None:
    """Parse USD a month, without the limits of a checkout's price."""
    value = body.get("monthly_volume")
    if value is None:
        return None
    if json.number_text(value) is not None:
        raise refuse("monthly_volume", 'monthly_volume must be a string such as "50000".', "amount_not_string")
    amount = parse_usd(value) if isinstance(value, str) else None
    if amount is None:
        raise refuse(
            "monthly_volume", 'monthly_volume must look like "50000" or "50000.00", digits only.', "amount_invalid"
        )
    if amount >= ENDLESS:
        raise refuse(
            "monthly_volume", "monthly_volume must have at most 15 digits before the point.", "amount_out_of_range"
        )
    return amount
