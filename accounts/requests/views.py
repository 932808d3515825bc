"""The page of API requests: what programs asked with the merchant's keys, and what they were answered."""

from datetime import timedelta
from typing import Any, Final

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiKey, ApiRequest
from accounts.requests.log import KEPT
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from accounts.team.selectors import keys_of
from gateway.core.api.pagination import keyset_page
from gateway.core.postgres.replica import reads_replica
from gateway.core.web.badges import Badge
from gateway.core.web.lists import AnyChoice, FilterForm, HiddenChoice, SearchText

MOST_SEARCHED: Final = 20_000
"""So many of the newest requests are searched: no index fits a search for a part of a path."""

_LONGEST_SEARCH: Final = 100
_FAILED: Final = Q(status__gte=400)
_TABS: Final = (("", gettext_noop("All")), ("answered", gettext_noop("Answered")), ("failed", gettext_noop("Failed")))


class RequestFilters(FilterForm[ApiRequest]):
    """The filters of the list: answered or failed, a key's public id, and a part of the path or a request's id."""

    tabbed_by = "result"
    result = HiddenChoice(_TABS)
    q = SearchText(_("Path, error code or request id"), longest=_LONGEST_SEARCH)
    key = AnyChoice(_("Key"), everything=_("All keys"))

    def clean_q(self) -> str:
        """Return a text that PostgreSQL takes."""
        return _plain(self.cleaned_data["q"])

    def clean_key(self) -> str:
        """Return a text that PostgreSQL takes."""
        return _plain(self.cleaned_data["key"])

    def filter(self, found: QuerySet[ApiRequest]) -> QuerySet[ApiRequest]:
        """Return the requests that match."""
        result, text, key = (self.cleaned_data[name] for name in ("result", "q", "key"))
        if result:
            found = found.filter(_FAILED if result == "failed" else ~_FAILED)
        if key:
            found = found.filter(key_id=key)
        if text:
            found = found.filter(Q(path__contains=text) | Q(code=text) | Q(request_id=text))
        return found


def _plain(text: str) -> str:
    text = text.strip()
    return text if text.isprintable() and len(text) <= _LONGEST_SEARCH else ""


@seated(get=Act.SEE)
@reads_replica
def requests(request: SeatedRequest) -> HttpResponse:
    """List the requests of the last seven days, newest first."""
    seat, filters = request.seat, RequestFilters(request.GET)
    keys = {key.public_id: key for key in keys_of(seat.merchant, mode=seat.mode)}
    filters.offer("key", [(public_id, _name_of(key)) for public_id, key in keys.items()])
    found = _requests_of(seat)
    is_filtered = bool(filters.applied())
    oldest = _oldest_searched(found) if is_filtered else None
    if oldest is not None:
        found = found.filter(pk__gte=oldest)
    page = keyset_page(filters.filter(found), {name: value for name, value in request.GET.dict().items() if value})
    context = {
        "filters": filters,
        "rows": [_row(each, keys, seat) for each in page.rows],
        "pager": page,
        "tabs": filters.tabs(seat.url("dashboard_api_requests")),
        "is_filtered": is_filtered,
        "most_searched": MOST_SEARCHED if oldest is not None else None,
    }
    return render(request, "dashboard/accounts/api_requests.html", context)


def _requests_of(seat: Seat) -> QuerySet[ApiRequest]:
    since = timezone.now() - KEPT
    return ApiRequest.objects.filter(merchant=seat.merchant, mode=seat.mode, asked_at__gte=since)


def _oldest_searched(found: QuerySet[ApiRequest]) -> int | None:
    """Return the key of the last request that a search reads; None if it reads all."""
    keys = found.order_by("-pk").values_list("pk", flat=True)
    return keys[MOST_SEARCHED - 1 : MOST_SEARCHED].first()


def _row(found: ApiRequest, keys: dict[str, ApiKey], seat: Seat) -> dict[str, Any]:
    kind = "bad" if found.status >= 500 else "warn" if found.status >= 400 else "ok"
    took = timedelta(milliseconds=found.milliseconds).total_seconds()
    return {
        "request": found,
        "path": seat.shown(found.path),
        "key": keys.get(found.key_id),
        "badge": Badge(str(found.status), kind),
        "took": f"{found.milliseconds} ms" if took < 1 else f"{took:.1f} s",
    }


def _name_of(key: ApiKey) -> str:
    name = key.name or gettext("Unnamed")
    return f"{name} (…{key.last_four})"
