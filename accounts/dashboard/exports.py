"""The export page: all data of a merchant, for its owners."""

from collections.abc import Iterator

from django.conf import settings
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.utils.module_loading import import_string

from accounts.audit.service import record
from accounts.models import Merchant
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.exports import ExportTable, zip_response
from gateway.core.web.client_address import address_or_none


@seated(get=Act.SEE)
def data_export(request: SeatedRequest) -> HttpResponse:
    """Show what an export contains."""
    return render(request, "dashboard/export.html")


@seated(post=Act.CLOSE, fresh=True)
def download(request: SeatedRequest) -> HttpResponseBase:
    """Send the export, after auditing it."""
    merchant = request.seat.merchant
    record(
        merchant,
        action="merchant.data_exported",
        actor=request.user,
        object_id=merchant.public_id,
        address=address_or_none(request),
        now=timezone.now(),
    )
    return zip_response(f"florin-{merchant.public_id}", _tables(merchant))


def _tables(merchant: Merchant) -> Iterator[ExportTable]:
    for name in settings.DATA_EXPORTS:
        yield from import_string(name)(merchant)
