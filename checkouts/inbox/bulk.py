"""Decisions about several items at once: each is the decision that its own page would make, and each can be undone."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext

from accounts.audit.actors import actor_of
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.inbox.queries import InboxTab, checkouts_of, items_in
from checkouts.inbox.rows import Deed, ItemRow, item_row
from checkouts.inbox.service import acts_of, decide_item, undo_decision
from checkouts.inbox.stories import stories_of
from checkouts.inbox.undo import UNDO_SPAN, WAITING
from checkouts.models import InboxDecision, InboxItem
from checkouts.states import InboxAct
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.web.form_errors import words_of

MOST: Final = 100
"""The maximum of items that are decided at once."""

SUGGESTED: Final = "suggested"
"""The value of `act` that does what the evidence points to."""

_KEY: Final = re.compile(r"[0-9]{1,18}", re.ASCII)
# What the confirmation posts of an item: its key, the act, and for a credit the checkout and the sum accepted.
_CHOSEN: Final = re.compile(
    r"(?P<item>[0-9]{1,18}):(?P<act>credit|accept_late|dismiss):(?P<checkout>[0-9A-Za-z_]{0,40})"
    r":(?P<accepted>(?:[0-9]{1,30}\.[0-9]{1,6})?)",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """One item of the confirmation, with what will be done; `value` is posted."""

    row: ItemRow
    sentence: str
    label: str
    value: str


@seated(get=Act.RUN_PAYMENTS, post=Act.RUN_PAYMENTS)
def decide_many(request: SeatedRequest) -> HttpResponse:
    """Show the confirmation of decisions about the selected items; on a POST, decide them."""
    if request.method == "POST":
        return _decide(request)
    act, ids = request.GET.get("act", ""), _keys(request.GET.getlist("item"))
    items, now = _open_items(request.seat, ids), timezone.now()
    chosen = _suggested(items, now) if act == SUGGESTED else _dismissed(items, now)
    if not chosen:
        messages.error(
            request,
            gettext("Select items first.") if not items else gettext("The evidence points to no act for these items."),
        )
        return HttpResponseRedirect(request.seat.url("dashboard_inbox"))
    context = {
        "chosen": chosen,
        "left": len(items) - len(chosen),
        "button": gettext("Dismiss") if act != SUGGESTED else gettext("Do this"),
        "undo_seconds": int(UNDO_SPAN.total_seconds()),
    }
    return render(request, "dashboard/checkouts/inbox/decide_many.html", context)


@seated(post=Act.RUN_PAYMENTS)
def undo_many(request: SeatedRequest) -> HttpResponse:
    """Undo the decisions that a page showed, as far as they have not taken effect."""
    seat = request.seat
    mine = InboxDecision.objects.filter(WAITING, item__merchant=seat.merchant, item__mode=seat.mode)
    waiting = mine.filter(pk__in=_keys(request.POST.getlist("decision"))).select_related("item__merchant", "checkout")
    undone, actor = 0, actor_of(request)
    for decision in waiting.order_by("item_id"):
        try:
            undo_decision(decision, now=timezone.now(), actor=actor)
        except ConflictError:
            # It has just taken effect, or a colleague undid it.
            continue
        undone += 1
    messages.success(request, gettext("%(undone)s undone.") % {"undone": undone})
    return HttpResponseRedirect(seat.url("dashboard_inbox"))


def _decide(request: SeatedRequest) -> HttpResponse:
    """Decide each item by itself, so that one that changed meanwhile keeps no other from its decision."""
    seat, done, refused = request.seat, 0, []
    for value in request.POST.getlist("chosen")[:MOST]:
        if (found := _CHOSEN.fullmatch(value)) is None:
            continue
        try:
            done += _decide_one(request, found)
        except (ConflictError, InvalidRequestError) as error:
            refused.append(words_of(error))
    if done:
        messages.success(
            request,
            gettext("%(count)s decided. They take effect in %(seconds)s seconds.")
            % {"count": done, "seconds": int(UNDO_SPAN.total_seconds())},
        )
    for message in dict.fromkeys(refused):
        messages.error(
            request,
            gettext("%(count)s not decided: %(message)s") % {"count": refused.count(message), "message": message},
        )
    return HttpResponseRedirect(f"{seat.url('dashboard_inbox')}?tab={InboxTab.DOING}")


def _decide_one(request: SeatedRequest, found: re.Match[str]) -> int:
    seat = request.seat
    [*items] = _open_items(seat, [int(found["item"])])
    if not items:
        return 0
    act, checkout = InboxAct(found["act"]), None
    if act == InboxAct.CREDIT:
        checkout = checkouts_of(seat).filter(public_id=found["checkout"]).first()
    accepted = Decimal(found["accepted"]) if found["accepted"] else None
    decide_item(items[0], act=act, checkout=checkout, accepted=accepted, now=timezone.now(), actor=actor_of(request))
    return 1


def _keys(texts: Iterable[str]) -> list[int]:
    return [int(text) for text in texts if _KEY.fullmatch(text)][:MOST]


def _open_items(seat: Seat, ids: Sequence[int]) -> list[InboxItem]:
    found = items_in(seat, InboxTab.OPEN).select_related("merchant", "transfer__payment__checkout", "checkout")
    return list(found.filter(pk__in=ids).order_by("pk"))


def _suggested(items: Sequence[InboxItem], now: datetime) -> list[Chosen]:
    stories = stories_of(items, now=now)
    return [
        _chosen(item, stories[item.pk].sentence, stories[item.pk].deeds[0]) for item in items if stories[item.pk].deeds
    ]


def _dismissed(items: Sequence[InboxItem], now: datetime) -> list[Chosen]:
    stories, deed = stories_of(items, now=now), Deed(InboxAct.DISMISS, gettext("Dismiss"))
    return [_chosen(item, stories[item.pk].sentence, deed) for item in items if InboxAct.DISMISS in acts_of(item)]


def _chosen(item: InboxItem, sentence: str, deed: Deed) -> Chosen:
    return Chosen(item_row(item), sentence, deed.label, f"{item.pk}:{deed.act}:{deed.checkout}:{deed.accepted}")
