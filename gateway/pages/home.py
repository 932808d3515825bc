"""The home page: says that this is Florin, and links to its parts."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from wallets.networks import chains
from wallets.selectors import chain_statuses, down_reasons


def home(request: HttpRequest) -> HttpResponse:
    """Show links to the login, the API's description and the status, and the state of each chain."""
    now = timezone.now()
    statuses, reasons = chain_statuses(now=now), down_reasons(now=now)
    shown = [
        {"title": spec.title, "status": statuses[name], "reason": reasons[name]}
        for name, spec in chains().items()
        if spec.rpc_urls
    ]
    context = {"version": settings.SERVICE_VERSION, "chains": shown}
    return render(request, "gateway/home.html", context)
