"""The pages of endpoints that a merchant adds: add, show, change, rotate the secret, delete."""

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_variables

from accounts.audit.actors import actor_of
from accounts.team.access import SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError, InvalidRequestError, NotFoundError
from gateway.core.outbound import check_destination, url_policy
from gateway.core.web.form_errors import add_refusal
from webhooks.dashboard.forms import EndpointForm
from webhooks.dashboard.queries import own_secrets, shown_endpoint
from webhooks.listed.service import (
    DEFAULT_ID,
    add_endpoint,
    change_endpoint,
    delete_endpoint,
    endpoint_named,
    rotate_endpoint_secret,
)
from webhooks.models import Endpoint


@seated(get=Act.MANAGE_WEBHOOKS, post=Act.MANAGE_WEBHOOKS, fresh=True)
@sensitive_variables("secret")
def add(request: SeatedRequest) -> HttpResponse:
    """Add an endpoint and show its secret. No other response contains it."""
    if request.method != "POST":
        return _form_page(request, EndpointForm.of())
    form = EndpointForm(request.POST)
    if not form.is_valid():
        return _form_page(request, form, status=422)
    try:
        check_destination(form.cleaned_data["url"], param="url", policy=url_policy())
        found, secret = add_endpoint(
            request.seat.merchant,
            mode=request.seat.mode,
            values=form.values,
            now=timezone.now(),
            actor=actor_of(request),
        )
    except (InvalidRequestError, ConflictError) as error:
        add_refusal(form, error)
        return _form_page(request, form, status=422)
    return _secret_page(request, found, secret)


@seated(get=Act.SEE, post=Act.MANAGE_WEBHOOKS)
def endpoint(request: SeatedRequest, *, listed_id: str) -> HttpResponse:
    """Show an endpoint with its health, or change it."""
    found = _endpoint(request, listed_id)
    if request.method != "POST":
        return _page(request, found, EndpointForm.of(found))
    form = EndpointForm(request.POST)
    if not form.is_valid():
        return _page(request, found, form, status=422)
    try:
        check_destination(form.cleaned_data["url"], param="url", policy=url_policy())
        change_endpoint(found, values=form.values, now=timezone.now(), actor=actor_of(request))
    except (InvalidRequestError, ConflictError) as error:
        add_refusal(form, error)
        return _page(request, found, form, status=422)
    messages.success(request, gettext("The endpoint is changed."))
    return HttpResponseRedirect(request.seat.url("dashboard_endpoint", listed_id=listed_id))


@seated(post=Act.MANAGE_WEBHOOKS, fresh=True)
@sensitive_variables("secret")
def rotate(request: SeatedRequest, *, listed_id: str) -> HttpResponse:
    """Rotate the endpoint's own secret and show the new one; the old one signs for another day."""
    found = _endpoint(request, listed_id)
    secret = rotate_endpoint_secret(found, now=timezone.now(), actor=actor_of(request))
    return _secret_page(request, found, secret)


@seated(post=Act.MANAGE_WEBHOOKS)
def delete(request: SeatedRequest, *, listed_id: str) -> HttpResponse:
    """Delete an endpoint; what did not arrive there is cancelled."""
    delete_endpoint(_endpoint(request, listed_id), now=timezone.now(), actor=actor_of(request))
    messages.success(request, gettext("The endpoint is deleted."))
    return HttpResponseRedirect(request.seat.url("dashboard_webhooks"))


def _endpoint(request: SeatedRequest, listed_id: str) -> Endpoint:
    # The default one has its own form.
    if listed_id == DEFAULT_ID:
        raise Http404
    try:
        return endpoint_named(request.seat.merchant.pk, request.seat.mode, listed_id)
    except NotFoundError as error:
        raise Http404 from error


def _form_page(request: SeatedRequest, form: EndpointForm, status: int = 200) -> HttpResponse:
    return render(request, "dashboard/webhooks/new_endpoint.html", {"form": form}, status=status)


def _page(request: SeatedRequest, found: Endpoint, form: EndpointForm, status: int = 200) -> HttpResponse:
    secrets = own_secrets(found, now=timezone.now())
    context = {"endpoint": shown_endpoint(found), "form": form, "secrets": secrets}
    return render(request, "dashboard/webhooks/endpoint.html", context, status=status)


@sensitive_variables("secret")
def _secret_page(request: SeatedRequest, found: Endpoint, secret: str) -> HttpResponse:
    old = own_secrets(found, now=timezone.now())[1:]
    return render(request, "dashboard/webhooks/secret.html", {"secret": secret, "is_new": True, "old": old})
