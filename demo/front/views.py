"""The demo's first page, and the login page with the demo's login filled in."""

from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from allauth.account.views import LoginView
from django.conf import settings
from django.forms import PasswordInput
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from demo.settings_file import DemoSettings, read_settings
from wallets.networks import chains
from wallets.selectors import chain_statuses

_LOOPBACK_NAMES: Final = {"127.0.0.1", "localhost", "::1"}
_FORWARDED: Final = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host")


def demo_settings() -> DemoSettings:
    """Read var/demo.json of the demo that runs."""
    return read_settings(settings.VAR_DIR / "demo.json")


def is_from_this_machine(request: HttpRequest) -> bool:
    """Whether a browser on this machine asks by a loopback name, with no proxy in between."""
    host = urlsplit(f"//{request.get_host()}").hostname
    return (
        host in _LOOPBACK_NAMES
        and ip_address(request.META["REMOTE_ADDR"]).is_loopback
        and not any(name in request.headers for name in _FORWARDED)
    )


@never_cache
def start(request: HttpRequest) -> HttpResponse:
    """Show what the demo runs, where it is, and what to click first."""
    demo = demo_settings()
    statuses = chain_statuses(now=timezone.now())
    nodes = [
        {
            "title": spec.title,
            "status": statuses[name],
            "url": demo.chains[name]["rpc_url"],
            "tokens": ", ".join(demo.chains[name]["tokens"]),
        }
        for name, spec in chains().items()
        if name in demo.chains
    ]
    context = {
        "demo": demo,
        "nodes": nodes,
        "is_login_filled_in": is_from_this_machine(request),
        "version": settings.SERVICE_VERSION,
    }
    return render(request, "demo/start.html", context)


class DemoLoginView(LoginView):  # type: ignore[misc]
    """The product's login page. On this machine it is filled in with the demo's login."""

    def get_form(self, form_class: Any = None) -> Any:
        """Fill in e-mail address and password."""
        form = super().get_form(form_class)
        if self.request.method == "GET" and is_from_this_machine(self.request):
            known = demo_settings().credentials
            form.initial |= {"login": known.owner_email, "password": known.owner_password}
            form.fields["password"].widget = PasswordInput(
                attrs=form.fields["password"].widget.attrs, render_value=True
            )
        return form
