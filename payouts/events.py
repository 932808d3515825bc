"""Events about refunds and payouts, for endpoints that chose to hear of them. Publish them last in a transaction."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from accounts.states import Mode
from gateway.core.ids import new_id
from payouts.models import Payout
from webhooks.outbox.events import OptInEvent, publish


class News(StrEnum):
    """What an event tells of a refund or payout; its type is `refund.<news>` or `payout.<news>`."""

    # The recipient gave an address on the claim page, or another one.
    CLAIMED = "claimed"
    APPROVED = "approved"
    # Also once a reorg that removed its outflow brought it back.
    PAID = "paid"
    REVERSED = "reversed"
    # Cancelled or expired.
    ENDED = "ended"


def payout_event(payout: Payout, news: News) -> OptInEvent:
    """Return the event of something that the caller's transaction did to a payout.

    The payout is read when the event is written: its rows must be as they stay.
    """
    return OptInEvent(
        merchant_id=payout.merchant_id,
        mode=Mode(payout.mode),
        type=f"{payout.kind}.{news}",
        # Most happen any number of times: an address changes, an approval is void, a reorg returns.
        occurrence=new_id(f"payout:{payout.pk}"),
        read=partial(_read, payout.pk),
        checkout_id=_checkout_of,
    )


def tell(payout: Payout, news: News, *, now: datetime) -> None:
    """Publish one event of a payout; the last statement of the caller's transaction."""
    tell_each([payout], news, now=now)


def tell_each(payouts: Iterable[Payout], news: News, *, now: datetime) -> None:
    """Publish the same news of several payouts; the last statement of the caller's transaction."""
    publish([payout_event(payout, news) for payout in payouts], now=now)


def _read(key: int) -> Mapping[str, Any]:
    read: Callable[[int], Mapping[str, Any]] = import_string(settings.PAYOUT_OBJECT)
    return read(key)


def _checkout_of(subject: Mapping[str, Any]) -> str:
    source = subject["source"]
    return (source and source["checkout"]) or ""
