"""Django's admin with our own access rule and sidebar: it has no login, and shows nothing until `access.refuse` returns None."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Final

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, path, reverse
from django.views.decorators.http import require_POST

from accounts.team.operators import is_operator
from gateway.operator.access import refuse
from gateway.operator.health_page import health_page, rates_page, resume_page
from gateway.operator.impersonation import stop_looking

View = Callable[..., HttpResponseBase]


@dataclass(frozen=True, slots=True)
class Area:
    """An entry of the operator's sidebar. `view` is its page's route name, `words` its description."""

    title: str
    view: str
    icon: str
    words: str


_AREAS: Final = (
    Area("Health", "admin:health", "heart", "Queues, chains and their nodes, webhook endpoints that do not answer."),
    Area(
        "Merchants",
        "admin:accounts_merchant_changelist",
        "card",
        "Reopening a closed account, looking at a merchant's pages; plans, where you charge fees.",
    ),
    Area("People", "admin:accounts_user_changelist", "people", "People with a login, and ending their sessions."),
    Area(
        "Rates", "admin:rates", "chart", "Sources of rates for prices in other currencies, and when they did not agree."
    ),
    Area(
        "Nodes that disagree",
        "admin:wallets_sourcedifference_changelist",
        "arrows",
        "Transfers that one node of a chain knows and another does not.",
    ),
    Area(
        "Fiat waitlist", "admin:accounts_fiatinterest_changelist", "inbox", "Merchants who want to take card payments."
    ),
    Area(
        "Audit log",
        "admin:accounts_auditentry_changelist",
        "log",
        "What was changed, by whom and when, in all merchants' accounts.",
    ),
)


def areas_at(path: str) -> list[dict[str, Any]]:
    """Return the sidebar's entries: title, url, icon, words, and `is_here` for the entry of the page at `path`."""
    return [_entry(area, path) for area in _AREAS]


def title_at(path: str) -> str:
    """Return the sidebar's name for the page at `path`."""
    [title] = [area["title"] for area in areas_at(path) if area["is_here"]]
    return str(title)


def _entry(area: Area, path: str) -> dict[str, Any]:
    url = reverse(area.view)
    return {"title": area.title, "icon": area.icon, "words": area.words, "url": url, "is_here": path.startswith(url)}


class OperatorSite(AdminSite):
    """The operator's pages, under /operator/."""

    site_title = "Florin"
    site_header = "Florin: the operator's pages"
    index_title = "This installation"
    site_url = "/dashboard/"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        """Return whether templates show what only operators see."""
        return is_operator(request)

    def admin_view(self, view: View, cacheable: bool = False) -> Any:
        """Let a view answer only people with access. Middleware takes care of CSRF and caching."""

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            return refuse(request) or view(request, *args, **kwargs)

        return update_wrapper(guarded, view)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Return the routes, our own pages included."""
        return [
            path("health/", self.admin_view(self.health), name="health"),
            path("rates/", self.admin_view(self.rates), name="rates"),
            path("health/<str:chain>/resume/", self.admin_view(require_POST(resume_page)), name="resume_chain"),
            # Without the access rule: an impersonation can be ended however old the login is.
            path("stop-looking/", stop_looking, name="stop_looking"),
            *super().get_urls(),
        ]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """Return every page's context, the sidebar included."""
        return super().each_context(request) | {"areas": areas_at(request.path)}

    def health(self, request: HttpRequest) -> HttpResponse:
        """Show the installation's health."""
        return health_page(request, self.each_context(request))

    def rates(self, request: HttpRequest) -> HttpResponse:
        """Show the sources of rates."""
        return rates_page(request, self.each_context(request))

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Redirect to the product's login."""
        return HttpResponseRedirect(reverse("admin:index"))

    def logout(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Redirect to the product's logout."""
        return HttpResponseRedirect(reverse("account_logout"))

    def password_change(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Redirect to the page for changing a password."""
        return HttpResponseRedirect(reverse("account_change_password"))
