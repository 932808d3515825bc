"""The inbox's pages: money that no rule could credit and the decisions about it, buyers' reports, and a file for spreadsheets."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any, Final

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from accounts.audit.actors import actor_of
from accounts.merchants.service import DECIDES_CERTAIN, turn
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.inbox.evidence import JUNK, UNSEEN
from checkouts.inbox.queries import (
    InboxTab,
    alarm_count,
    alarms,
    checkouts_of,
    decisions_of,
    doing_count,
    item_of,
    items_in,
    named_items,
    open_count,
)
from checkouts.inbox.rows import (
    DECIDED,
    REASONS,
    VERDICTS,
    CheckoutChoice,
    decided_by,
    found_choices,
    history,
    item_row,
    item_rows,
    pending,
    ranked_choices,
    worths_of,
)
from checkouts.inbox.service import acts_of, decide_item, has_no_successor, is_promised_back, undo_decision
from checkouts.inbox.stories import open_rows, story_of
from checkouts.inbox.suggestions import confirmation_of, label_of, late_money, shop_note, suggestion_of
from checkouts.inbox.undo import UNDO_SPAN
from checkouts.models import BuyerReport, Checkout, InboxDecision, InboxItem
from checkouts.rescue.answers import close_report
from checkouts.selectors import open_reports
from checkouts.states import InboxAct, InboxReason, InboxStatus, RescueVerdict
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.api.pagination import chunks_by_key, keyset_page
from gateway.core.exports import csv_response
from gateway.core.money import readable_units
from gateway.core.times import iso
from gateway.core.web import lists
from gateway.core.web.form_errors import words_of
from wallets.dashboard.rows import explorer_url
from wallets.networks import known_chains

_SUM: Final = re.compile(r"[0-9]{1,30}(\.[0-9]{1,6})?", re.ASCII)
_TAB_NAMES = {
    InboxTab.OPEN: gettext_noop("Open"),
    InboxTab.DOING: gettext_noop("Being done"),
    InboxTab.RESOLVED: gettext_noop("Resolved"),
}


class InboxFilters(lists.FilterForm[InboxItem]):
    """The filters of a tab's items: the reason."""

    tabbed_by = "tab"

    tab = lists.HiddenChoice([("" if tab is InboxTab.OPEN else tab, name) for tab, name in _TAB_NAMES.items()])
    reason = lists.FilterChoice(
        _("Reason"), [(kind, words.title) for kind, words in REASONS.items()], everything=_("Any reason")
    )

    def items(self, seat: Seat) -> QuerySet[InboxItem]:
        """Return the items that match, with the data of their rows."""
        reason = self.texts["reason"]
        return items_in(seat, self.current, InboxReason(reason) if reason else None)

    @property
    def current(self) -> InboxTab:
        """The current tab."""
        return InboxTab(self.current_tab or InboxTab.OPEN)


@seated(get=Act.SEE)
def inbox(request: SeatedRequest) -> HttpResponse:
    """Show a tab of the inbox."""
    seat, filters, now = request.seat, InboxFilters(request.GET), timezone.now()
    tab, listed = filters.current, filters.items(seat)
    shows_first = tab is InboxTab.OPEN and not filters.is_narrowed
    by_buyers = named_items(seat) if shows_first else []
    if shows_first:
        listed = listed.exclude(reason=InboxReason.REVERSED).exclude(pk__in=[item.pk for item in by_buyers])
    page = keyset_page(listed, request.GET.dict())
    context: dict[str, Any] = {
        "tabs": tabs_of(seat, tab),
        "tab": tab,
        "filters": filters,
        "rows": open_rows(page.rows, now=now) if tab is InboxTab.OPEN else item_rows(page.rows),
        "pager": page,
        "query": request.GET.urlencode(),
        "decides_certain": seat.merchant.decides_certain,
        "selected": request.GET.get("select") == "all",
    }
    if shows_first and page.is_first:
        context |= {"alarms": open_rows(alarms(seat), now=now), "alarm_count": alarm_count(seat)}
        context["named"] = open_rows(by_buyers, now=now)
    return render(request, "dashboard/checkouts/inbox/list.html", context)


@seated(get=Act.SEE)
def item(request: SeatedRequest, *, item_id: int) -> HttpResponse:
    """Show one item."""
    return _item_page(request, _item(request, item_id))


@seated(get=Act.RUN_PAYMENTS, post=Act.RUN_PAYMENTS)
def decide(request: SeatedRequest, *, item_id: int) -> HttpResponse:
    """Show the confirmation of a decision; on a POST, decide."""
    found = _item(request, item_id)
    given = request.POST if request.method == "POST" else request.GET
    act = _act(given.get("act", ""))
    if act == InboxAct.REFUNDED:
        # The address of an outdated page.
        return HttpResponseRedirect(request.seat.url("dashboard_refund_item", item_id=item_id))
    checkout = _checkout(request.seat, act, given.get("checkout", ""))
    is_asked, accepted = request.method != "POST", parse_accepted(given.get("accepted", ""))
    if act == InboxAct.CREDIT and (checkout is None or (is_asked and not _takes_money(checkout, accepted))):
        messages.error(request, gettext("Select the open checkout that this money is for."))
        return _to(request, found)
    if is_asked:
        return _decide_page(request, found, act, checkout, accepts=accepted is not None)
    try:
        decide_item(
            found,
            act=act,
            checkout=checkout,
            accepted=accepted,
            seen=_seen(given.get("seen", "")),
            now=timezone.now(),
            actor=actor_of(request),
        )
    except InvalidRequestError as error:
        return _decide_page(request, found, act, checkout, accepts=accepted is not None, error=words_of(error))
    except ConflictError as error:
        return _too_late(request, found.pk, error)
    return _to(request, found)


@seated(post=Act.RUN_PAYMENTS)
def undo(request: SeatedRequest, *, item_id: int, decision_id: int) -> HttpResponse:
    """Undo a decision."""
    found = _item(request, item_id)
    decision = (
        InboxDecision.objects.select_related("item__merchant", "checkout").filter(pk=decision_id, item=found).first()
    )
    if decision is None:
        raise Http404
    try:
        undo_decision(decision, now=timezone.now(), actor=actor_of(request))
    except ConflictError as error:
        return _too_late(request, found.pk, error)
    messages.success(request, gettext("Undone. Nothing has changed, and the item is open."))
    return _to(request, found)


def tabs_of(seat: Seat, current: InboxTab | None) -> list[lists.Tab]:
    """Return the inbox's tabs; without a current one, the buyers' reports are current."""
    here = seat.url("dashboard_inbox")
    counts = {InboxTab.OPEN: open_count(seat), InboxTab.DOING: doing_count(seat)}
    tabs = [
        lists.Tab(
            gettext(name),
            here if tab is InboxTab.OPEN else f"{here}?tab={tab}",
            tab is current,
            counts.get(tab) or None,
        )
        for tab, name in _TAB_NAMES.items()
    ]
    reports = open_reports(seat.merchant.pk, seat.mode).exclude(verdict__in=JUNK | UNSEEN).count() or None
    url = seat.url("dashboard_buyer_reports")
    return [*tabs, lists.Tab(gettext("Buyers' reports"), url, current is None, reports)]


def _item(request: SeatedRequest, item_id: int) -> InboxItem:
    found = item_of(request.seat, item_id)
    if found is None:
        raise Http404
    return found


def _act(name: str) -> InboxAct:
    if name not in InboxAct.values:
        raise Http404
    return InboxAct(name)


def _checkout(seat: Seat, act: InboxAct, public_id: str) -> Checkout | None:
    if act != InboxAct.CREDIT or not public_id or "\x00" in public_id:
        return None
    return checkouts_of(seat).filter(public_id=public_id).first()


def _takes_money(checkout: Checkout, accepted: Decimal | None) -> bool:
    return not checkout.is_final or (accepted is not None and has_no_successor(checkout))


def parse_accepted(text: str) -> Decimal | None:
    """Return the sum in USD that a page posts with an acceptance of short money; None if there is none."""
    return Decimal(text) if _SUM.fullmatch(text) else None


def _seen(text: str) -> int:
    # An unknown value matches no decision, and is refused as outdated.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1


def _to(request: SeatedRequest, found: InboxItem) -> HttpResponse:
    url = request.seat.url("dashboard_inbox_item", item_id=found.pk)
    return HttpResponseRedirect(url)


def _too_late(request: SeatedRequest, item_id: int, error: ConflictError) -> HttpResponse:
    """Show the item's current state and who decided first."""
    return _item_page(request, _item(request, item_id), conflict=words_of(error), status=409)


def _item_page(request: SeatedRequest, found: InboxItem, *, conflict: str = "", status: int = 200) -> HttpResponse:
    seat, decisions, now = request.seat, decisions_of(found), timezone.now()
    waits = pending(decisions, now=now)
    is_promised = found.status == InboxStatus.OPEN and is_promised_back(found)
    is_open = found.status == InboxStatus.OPEN and waits is None and not is_promised
    acts = acts_of(found) if is_open else frozenset()
    text = request.GET.get("q", "")
    found_by_name = found_choices(seat, found, text) if text and is_open else []
    choices = ranked_choices(seat, found) if InboxAct.CREDIT in acts else []
    late = late_money(found) if InboxAct.ACCEPT_LATE in acts else None
    story = story_of(found, now=now) if is_open else None
    suggestion = suggestion_of(found, story) if story else None
    if suggestion and suggestion.choice:
        # The suggested act is shown above the others, with its own button.
        choices = _without(choices, [suggestion.choice])
    choices = _without(choices, found_by_name)
    context = _facts(found) | {
        "conflict": conflict,
        "pending": waits,
        "history": history(decisions),
        "failed": decisions[0] if decisions and decisions[0].failed_at else None,
        "is_open": is_open,
        "is_promised": is_promised,
        "acts": acts,
        "seen": _newest(decisions),
        "searched": text,
        "found": found_by_name,
        "choices": choices,
        "can_credit": any(each.is_open for each in (*choices, *found_by_name)),
        "late": late,
        "story": story,
        "suggestion": suggestion,
        # Candidates that a rule found but could not choose between.
        "tied": sum(each.is_likely and each.is_open for each in choices),
        "shop_note": shop_note(found.checkout) if found.status in (InboxStatus.OPEN, InboxStatus.CREDITED) else "",
    }
    return render(request, "dashboard/checkouts/inbox/item.html", context, status=status)


def _without(choices: list[CheckoutChoice], shown: list[CheckoutChoice]) -> list[CheckoutChoice]:
    keys = {choice.checkout.pk for choice in shown}
    return [choice for choice in choices if choice.checkout.pk not in keys]


def _facts(found: InboxItem) -> dict[str, Any]:
    return {
        "item": found,
        "checkout_label": label_of(found),
        "row": item_row(found),
        "worths": worths_of(found, now=timezone.now()),
        "transfer": found.transfer,
        "labels": [str(label) for label in found.transfer.labels],
        "explorer": explorer_url(found.transfer),
    }


def _decide_page(
    request: SeatedRequest,
    found: InboxItem,
    act: InboxAct,
    checkout: Checkout | None,
    *,
    accepts: bool = False,
    error: str = "",
) -> HttpResponse:
    decisions = decisions_of(found)
    if act not in acts_of(found) or not _is_free(found, decisions):
        # The address of an outdated page: the item shows what can be done now.
        return _to(request, found)
    given = request.POST if request.method == "POST" else request.GET
    confirmation = confirmation_of(found, act, checkout, accepts=accepts, now=timezone.now())
    context = _facts(found) | {
        "act": act,
        "checkout": checkout,
        "confirmation": confirmation,
        "shop_note": "" if act == InboxAct.DISMISS else shop_note(confirmation.checkout),
        "error": error,
        # The newest decision on the page that the person decided on, not the current one.
        "seen": given.get("seen") or _newest(decisions),
        "undo_seconds": int(UNDO_SPAN.total_seconds()),
    }
    status = 422 if error else 200
    return render(request, "dashboard/checkouts/inbox/decide.html", context, status=status)


def _is_free(found: InboxItem, decisions: list[InboxDecision]) -> bool:
    waits = pending(decisions, now=timezone.now())
    return found.status == InboxStatus.OPEN and waits is None


def _newest(decisions: list[InboxDecision]) -> int:
    return decisions[0].pk if decisions else 0


_HEADER = (
    "transfer",
    "received_at",
    "amount",
    "token",
    "chain",
    "from",
    "to",
    "transaction",
    "reason",
    "explanation",
    "probable_checkout",
    "order_ref",
    "status",
    "decision",
    "decided_by",
    "decided_at",
    "credited_checkout",
    "refund_transaction",
)


@seated(get=Act.EXPORT)
def export(request: SeatedRequest) -> HttpResponseBase:
    """Send a tab of the inbox as a CSV file."""
    seat, filters = request.seat, InboxFilters(request.GET)
    chunks = chunks_by_key(filters.items(seat))
    name = f"inbox-{filters.current}-{seat.merchant.public_id}-{seat.mode}"
    return csv_response(name, _HEADER, map(_cells, chain.from_iterable(chunks)))


def _cells(item: InboxItem) -> list[object]:
    [row] = item_rows([item])
    transfer, checkout = item.transfer, item.checkout
    return [
        transfer.public_id,
        iso(transfer.block_time),
        Decimal(readable_units(transfer.units, transfer.decimals).replace(",", "")),
        transfer.token,
        transfer.chain,
        transfer.sender,
        transfer.recipient,
        transfer.tx_hash,
        row.words.short,
        row.explanation,
        checkout.public_id if checkout else None,
        checkout.order_ref if checkout else None,
        item.status,
        *_decided(item),
    ]


def _decided(item: InboxItem) -> Iterator[object]:
    standing = next(iter(getattr(item, "standing", ())), None)
    if standing is None:
        yield from [None] * 5
        return
    yield DECIDED[InboxAct(standing.act)]
    yield decided_by(standing)
    yield iso(standing.decided_at)
    yield standing.checkout.public_id if standing.checkout else None
    yield standing.refund_tx


@seated(post=Act.RUN_PAYMENTS)
def switch_rule(request: SeatedRequest) -> HttpResponse:
    """Turn the merchant's rule for certain money on or off."""
    is_on = request.POST.get("on") == "1"
    turn(request.seat.merchant, DECIDES_CERTAIN, to=is_on, now=timezone.now(), actor=actor_of(request))
    messages.success(request, gettext("The rule is on.") if is_on else gettext("The rule is off."))
    return HttpResponseRedirect(request.seat.url("dashboard_inbox"))


@seated(get=Act.SEE)
def reports(request: SeatedRequest) -> HttpResponse:
    """Show the open reports."""
    seat = request.seat
    found, folded = open_reports(seat.merchant.pk, seat.mode), request.GET.get("found") == "nothing"
    found_nothing = Q(verdict__in=JUNK | UNSEEN)
    page = keyset_page(found.filter(found_nothing if folded else ~found_nothing), request.GET.dict())
    items = _items_about(page.rows)
    context = {
        "tabs": tabs_of(seat, None),
        "rows": [(report, _words(report), items.get(report.pk)) for report in page.rows],
        "pager": page,
        "folded": folded,
        "other_count": found.filter(~found_nothing if folded else found_nothing).count(),
    }
    return render(request, "dashboard/checkouts/inbox/reports.html", context)


@seated(post=Act.RUN_PAYMENTS)
def close(request: SeatedRequest, *, report_id: int) -> HttpResponse:
    """Close a report."""
    seat = request.seat
    mine = BuyerReport.objects.filter(merchant=seat.merchant, mode=seat.mode)
    report = mine.select_related("merchant", "checkout").filter(pk=report_id).first()
    if report is None:
        raise Http404
    closed = close_report(report, now=timezone.now(), actor=actor_of(request))
    said = gettext("The report is closed.") if closed else gettext("Another team member closed it first.")
    messages.success(request, said)
    return HttpResponseRedirect(seat.url("dashboard_buyer_reports"))


def _words(report: BuyerReport) -> tuple[str, str, str]:
    """Return the result, the amount, and the network."""
    spec = known_chains().get(report.chain)
    amount = str(report.details.get("amount", ""))
    verdict = gettext(VERDICTS[RescueVerdict(report.verdict)])
    return verdict, amount, spec.title if spec else ""


def _items_about(rows: Sequence[BuyerReport]) -> dict[int, InboxItem]:
    """Return, by report, the open item with its transaction."""
    hashes = {_hash(report): report.pk for report in rows}
    items = InboxItem.objects.filter(
        transfer__chain__in={report.chain for report in rows},
        transfer__tx_hash__in=hashes,
        status=InboxStatus.OPEN,
        merchant__in={report.merchant_id for report in rows},
        mode__in={report.mode for report in rows},
    ).select_related("transfer")
    return {hashes[item.transfer.tx_hash]: item for item in items}


def _hash(report: BuyerReport) -> str:
    # One TON transaction may cause several transfers, each recorded under its own hash.
    return str(report.details.get("tx_hash") or report.tx_hash)
