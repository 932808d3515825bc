"""Pages that say no."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer a form that did not come from a page of ours, or from one that was opened too long ago."""
    return render(request, "account/forged.html", status=403)
