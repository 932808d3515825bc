"""The pages that plugins send people to: consent, the way to the checkout and to the dashboard, and a script."""

from typing import Final

from allauth.core.exceptions import ReauthenticationRequired
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_safe

from accounts.audit.actors import actor_of
from accounts.freshness import needs_proof
from accounts.models import Membership
from accounts.team.access import PersonRequest, signed_in
from checkouts.payloads import checkout_url
from gateway.core.api.errors import InvalidRequestError, RateLimitError
from gateway.core.api.rate_limits import Limit
from gateway.core.web.languages import keep_language
from gateway.core.web.pages import count_visit, too_many
from greenfield.consent import Wish, chosen, connect, places_of, read_wish
from greenfield.permissions import of_store
from greenfield.selectors import of_facade

_VISITS: Final = Limit("greenfield.visits", 120)


@signed_in("GET", "POST")
@sensitive_variables("secret")
def authorize(request: PersonRequest) -> HttpResponse:
    """Ask an owner whether a plugin gets a key, and hand it over. A person whose login is older proves who they are first."""
    try:
        wish = read_wish(request.GET)
    except InvalidRequestError as error:
        return render(request, "greenfield/refused.html", {"reason": error.message}, status=400)
    now = timezone.now()
    if needs_proof(request, now=now):
        raise ReauthenticationRequired
    places = list(places_of(request.user))
    place = chosen(places, request.POST.get("store", "")) if request.method == "POST" else None
    if place is None:
        status = 422 if request.method == "POST" else 200
        return render(request, "greenfield/consent.html", {"wish": wish, "places": places}, status=status)
    key, secret = connect(place, wish, now=now, actor=actor_of(request))
    context = {
        "wish": wish,
        "place": place,
        "secret": secret,
        "key": key,
        "permissions": of_store(wish.permissions, place.merchant.public_id),
    }
    return _sending(render(request, "greenfield/handover.html", context), wish)


@require_safe
def checkout(request: HttpRequest, invoice_id: str) -> HttpResponse:
    """Redirect a buyer to the checkout page. Raises Http404."""
    try:
        count_visit(request, _VISITS, "invoices")
    except RateLimitError as error:
        return too_many(request, error)
    found = of_facade(invoice_id)
    if found is None:
        raise Http404
    return HttpResponseRedirect(keep_language(checkout_url(found.code), request))


@signed_in("GET")
def dashboard(request: PersonRequest, *, invoice_id: str) -> HttpResponse:
    """Redirect a team member to the checkout in the dashboard. Raises Http404 for strangers, as for what is not there."""
    found = of_facade(invoice_id)
    if found is None or not Membership.objects.filter(user=request.user, merchant=found.merchant_id).exists():
        raise Http404
    here = {"mer_id": found.merchant.public_id, "mode": found.mode, "checkout_id": found.public_id}
    return HttpResponseRedirect(reverse("dashboard_checkout", kwargs=here))


@require_safe
def modal(_request: HttpRequest) -> HttpResponse:
    """Redirect to the script that WooCommerce's plugin loads for its modal. It leads to our page, which no page may frame."""
    return HttpResponseRedirect(static("js/btcpay.js"))


def _sending(response: HttpResponse, wish: Wish) -> HttpResponse:
    """Let the page's form go to the plugin's host, and nowhere else."""
    if wish.origin:
        response._csp_update = {"form-action": [wish.origin]}  # type: ignore[attr-defined]  # noqa: SLF001 - what `csp_update` sets
    return response
