"""The list of buyers' reports, beside the inbox: they move no money, but often identify the buyer of an item."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone

from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from checkouts.inbox.pages import tabs_of
from checkouts.inbox.words import VERDICTS
from checkouts.models import BuyerReport, InboxItem
from checkouts.rescue.reports import close_report
from checkouts.selectors import open_reports
from checkouts.states import InboxStatus, RescueVerdict
from gateway.core.api.keyset import keyset_page
from gateway.core.web.client_address import address_or_none
from wallets.networks import chains


@seated(get=Act.SEE)
def reports(request: SeatedRequest) -> HttpResponse:
    """Show the open reports."""
    seat = request.seat
    found = open_reports(seat.merchant.pk, seat.mode)
    page = keyset_page(found, request.GET.dict())
    items = _items_about(page.rows)
    context = {
        "tabs": tabs_of(seat, None),
        "rows": [(report, _words(report), items.get(report.pk)) for report in page.rows],
        "pager": page,
    }
    return render(request, "dashboard/inbox/reports.html", context)


@seated(post=Act.RUN_PAYMENTS)
def close(request: SeatedRequest, *, report_id: int) -> HttpResponse:
    """Close a report."""
    seat = request.seat
    mine = BuyerReport.objects.filter(merchant=seat.merchant, mode=seat.mode)
    report = mine.select_related("merchant", "checkout").filter(pk=report_id).first()
    if report is None:
        raise Http404
    closed = close_report(report, now=timezone.now(), actor=request.user, address=address_or_none(request))
    said = "The report is closed." if closed else "Another team member closed it first."
    messages.success(request, said)
    return HttpResponseRedirect(seat.url("dashboard_buyer_reports"))


def _words(report: BuyerReport) -> tuple[str, str, str]:
    """Return the result, the amount, and the network."""
    spec = chains().get(report.chain)
    amount = str(report.details.get("amount", ""))
    verdict = VERDICTS[RescueVerdict(report.verdict)]
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
