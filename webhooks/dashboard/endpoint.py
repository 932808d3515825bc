"""The webhook page: where events go, the endpoint's health, the signing secret, and examples that verify signatures."""

from typing import Final, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.debug import sensitive_variables

from accounts.audit.actors import actor_of
from accounts.team.access import Seat, SeatedRequest, seated
from accounts.team.permissions import Act
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.secrets import SecretUnreadableError
from gateway.core.web.form_errors import add_refusal, words_of
from webhooks.dashboard.forms import UrlForm
from webhooks.dashboard.queries import (
    default_endpoint,
    endpoint_of,
    last_roll,
    last_success,
    listed_endpoints,
    other_endpoints,
    shown_endpoint,
    valid_secrets,
)
from webhooks.endpoints.samples import send_sample
from webhooks.endpoints.secrets import roll_secret, show_secret
from webhooks.endpoints.service import enable_endpoint, set_default_url
from webhooks.models import LISTED, Endpoint
from webhooks.selectors import troubled_endpoints

_MOST_TROUBLED = 20


class LanguageSnippet(NamedTuple):
    """A language and its code."""

    language: str
    code: str


_PYTHON: Final = '''\
import hashlib, hmac, time


def is_genuine(header: str, body: bytes, secret: str) -> bool:
    """`header` is X-Service-Signature, `body` the raw bytes, `secret` the whsec_ string."""
    fields = [field.partition("=")[::2] for field in header.split(",")]
    sent_at = dict(fields).get("t", "")
    signed = sent_at.encode() + b"." + body
    wanted = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    matches = any(
        name == "v1" and hmac.compare_digest(value.encode(), wanted.encode())
        for name, value in fields
    )
    return bool(secret) and matches and abs(time.time() - int(sent_at)) <= 300
'''

_NODE: Final = """\
const crypto = require("node:crypto");

// header is X-Service-Signature, body the raw Buffer, secret the whsec_ string.
function isGenuine(header, body, secret) {
  const fields = header.split(",").map((field) => field.split("="));
  const sentAt = fields.find(([name]) => name === "t")?.[1] ?? "";
  const wanted = crypto.createHmac("sha256", secret).update(`${sentAt}.`).update(body).digest();
  const matches = fields.some(([name, value]) => {
    const given = Buffer.from(name === "v1" ? (value ?? "") : "", "hex");
    return given.length === wanted.length && crypto.timingSafeEqual(given, wanted);
  });
  return secret !== "" && matches && Math.abs(Date.now() / 1000 - Number(sentAt)) <= 300;
}
"""

_PHP: Final = """\
// $header is X-Service-Signature, $body file_get_contents('php://input'), $secret the whsec_ string.
function is_genuine(string $header, string $body, string $secret): bool
{
    $sentAt = 0;
    $given = [];
    foreach (explode(',', $header) as $field) {
        [$name, $value] = explode('=', $field, 2) + [1 => ''];
        if ($name === 't') {
            $sentAt = $value;
        } elseif ($name === 'v1') {
            $given[] = $value;
        }
    }
    $wanted = hash_hmac('sha256', $sentAt . '.' . $body, $secret);
    $matches = array_filter($given, fn ($value) => hash_equals($wanted, $value));
    return $secret !== '' && $matches !== [] && abs(time() - (int) $sentAt) <= 300;
}
"""

SNIPPETS: Final = (LanguageSnippet("Python", _PYTHON), LanguageSnippet("Node.js", _NODE), LanguageSnippet("PHP", _PHP))


@seated(get=Act.SEE)
def desk(request: SeatedRequest) -> HttpResponse:
    """Show where events go, and the endpoint's health."""
    endpoint = default_endpoint(request.seat)
    return _page(request, UrlForm(initial={"url": endpoint.url if endpoint else ""}))


@seated(post=Act.MANAGE_WEBHOOKS)
def set_url(request: SeatedRequest) -> HttpResponse:
    """Change the URL that the mode's events are sent to, or stop sending them."""
    form = UrlForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    url = form.cleaned_data["url"]
    try:
        set_default_url(
            request.seat.merchant, mode=request.seat.mode, url=url, now=timezone.now(), actor=actor_of(request)
        )
    except (InvalidRequestError, ConflictError) as error:
        add_refusal(form, error)
        return _page(request, form, status=422)
    said = gettext("Events now go to this URL.") if url else gettext("Events are no longer sent.")
    messages.success(request, said)
    return _to_desk(request.seat)


@seated(post=Act.MANAGE_WEBHOOKS)
def enable(request: SeatedRequest, *, endpoint_id: int) -> HttpResponse:
    """Enable a disabled endpoint."""
    endpoint = _endpoint(request.seat, endpoint_id)
    enable_endpoint(endpoint, now=timezone.now(), actor=actor_of(request))
    messages.success(request, gettext("The endpoint is on. Held events are being sent."))
    return _to_desk(request.seat)


@seated(post=Act.RUN_PAYMENTS)
def test_event(request: SeatedRequest, *, endpoint_id: int) -> HttpResponse:
    """Send a test event to an endpoint and redirect to its result."""
    endpoint = _endpoint(request.seat, endpoint_id)
    try:
        delivery = send_sample(endpoint, now=timezone.now(), actor=actor_of(request))
    except ConflictError as error:
        messages.error(request, words_of(error))
        return _to_desk(request.seat)
    return HttpResponseRedirect(request.seat.url("dashboard_delivery", delivery_id=delivery.public_id))


@seated(post=Act.MANAGE_WEBHOOKS, fresh=True)
@sensitive_variables("secret")
def secret(request: SeatedRequest) -> HttpResponse:
    """Show the secret. No other response contains it."""
    try:
        secret = show_secret(request.seat.merchant, now=timezone.now(), actor=actor_of(request))
    except SecretUnreadableError:
        words = gettext("The secret cannot be read with this installation's keys. Rotate it.")
        messages.error(request, words)
        return _to_desk(request.seat)
    return _secret_page(request, secret, is_new=False)


@seated(post=Act.MANAGE_WEBHOOKS, fresh=True)
@sensitive_variables("secret")
def roll(request: SeatedRequest) -> HttpResponse:
    """Rotate the secret and show the new one; the old one signs for another day."""
    secret = roll_secret(request.seat.merchant, now=timezone.now(), actor=actor_of(request))
    return _secret_page(request, secret, is_new=True)


@sensitive_variables("secret")
def _secret_page(request: SeatedRequest, secret: str, *, is_new: bool) -> HttpResponse:
    old = valid_secrets(request.seat, now=timezone.now())[1:]
    context = {"secret": secret, "is_new": is_new, "old": old}
    return render(request, "dashboard/webhooks/secret.html", context)


def _page(request: SeatedRequest, form: UrlForm, status: int = 200) -> HttpResponse:
    seat = request.seat
    endpoint = default_endpoint(seat)
    others = troubled_endpoints(seat.merchant.pk, seat.mode).filter(~LISTED, is_default=False).order_by("-pk")
    context = {
        "form": form,
        "endpoint": shown_endpoint(endpoint) if endpoint else None,
        "last_success": last_success(seat, endpoint) if endpoint else None,
        "secrets": valid_secrets(seat, now=timezone.now()),
        "last_roll": last_roll(seat),
        "troubled": [shown_endpoint(row) for row in others[:_MOST_TROUBLED]],
        "listed": listed_endpoints(seat),
        "others": other_endpoints(seat, request.GET),
        "snippets": SNIPPETS,
        "signature_header": settings.WEBHOOK_SIGNATURE_HEADER,
    }
    return render(request, "dashboard/webhooks/desk.html", context, status=status)


def _endpoint(seat: Seat, endpoint_id: int) -> Endpoint:
    endpoint = endpoint_of(seat, endpoint_id)
    if endpoint is None:
        raise Http404
    return endpoint


def _to_desk(seat: Seat) -> HttpResponse:
    return HttpResponseRedirect(seat.url("dashboard_webhooks"))
