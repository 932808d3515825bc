"""The search page: finds a merchant's objects by any pasted text."""

from django.http import HttpResponse
from django.shortcuts import render

from accounts.team.permissions import Act
from accounts.team.seats import SeatedRequest, seated
from checkouts.search import LONGEST_TEXT
from reports.dashboard.matches import MOST_SHOWN, matches_of


@seated(get=Act.SEE)
def search(request: SeatedRequest) -> HttpResponse:
    """Show the matches of a text, grouped by kind."""
    text = request.GET.get("q", "").strip()
    context = {"search_text": text[:LONGEST_TEXT], "matches": matches_of(request.seat, text), "most": MOST_SHOWN}
    return render(request, "dashboard/search.html", context)
