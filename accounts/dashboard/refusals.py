"""Error pages of forms."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form that fails the CSRF check: it was not sent from our page, or the page was opened too long ago."""
    return render(request, "account/forged.html", status=403)
