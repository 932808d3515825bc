"""Base classes of the API's views: JSON in and out, one error envelope, the key, the rate limit."""

import time
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import structlog
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest
from rest_framework import exceptions as drf
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from gateway.core.api import errors, rate_limits
from gateway.core.api.idempotency import IN_META, LONGEST
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.wire import JsonRenderer
from gateway.core.web.client_address import client_address, limited_as
from gateway.core.web.parked_views import counted_before

log = structlog.get_logger(__name__)


def django_request(request: Request) -> HttpRequest:
    """Return the Django request inside a DRF one."""
    return request._request  # noqa: SLF001 - DRF offers no other way


class ApiView(APIView):
    """A DRF view behind an API key, with a limit."""

    other_limit: ClassVar[Limit] = Limit("other", 60)
    key_required: ClassVar[bool] = True
    # Counted by the client's address where a request has no valid key. A route that needs none has its own, so that polling
    # it never makes a wrong key a 429.
    keyless_limit: ClassVar[Limit] = rate_limits.PER_ADDRESS
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check the key, count the request, and check the key's networks and scopes, before anything else happens.

        Raises AuthenticationError, RateLimitError, NetworkError, ScopeError.
        """
        request.accepted_renderer, request.accepted_media_type = (JsonRenderer(), "application/json")
        try:
            principal: Any = request.auth
        except errors.AuthenticationError:
            count_address(django_request(request))
            raise
        if principal is None:
            count_address(django_request(request), self.keyless_limit)
            if self.key_required:
                raise errors.AuthenticationError(
                    "Send your API key as 'Authorization: Bearer <key>'.", code="key_missing"
                )
        else:
            # For the log of requests, which is written once the answer is known.
            django_request(request).principal = principal  # type: ignore[attr-defined]
            _count(django_request(request), self.limit_now(), principal.key_id)
            if self.key_required and self.is_operation():
                principal.admit(django_request(request), self.required_scope())
        self.check_permissions(request)
        _refuse_encoded(request)
        if IN_META in request.META and request.method == "POST":
            self._answer_once(request)

    def _answer_once(self, request: Request) -> None:
        """Let the first answer to the request's Idempotency-Key be kept, and a repeat get it."""
        principal: Any = request.auth
        handler = getattr(self, "post", None)
        if principal is None or handler is None or self.own_longest_key() is not None:
            return

        keep = principal.answer_repeatable if self.asks_nodes() else principal.answer_once

        def post(request: Request, *args: Any, **kwargs: Any) -> Response:
            answer: Response = keep(request, lambda: handler(request, *args, **kwargs))
            return answer

        # Where `dispatch` looks for it, as a resource's actions are.
        self.post = post

    def handle_exception(self, exc: Exception) -> Response:
        """Note a scope that the key lacks, and answer the error. No transaction is open any more, of an Idempotency-Key or the view."""
        if isinstance(exc, errors.ScopeError):
            principal: Any = self.request.auth
            principal.note_refusal(exc.scope)
        return super().handle_exception(exc)

    def own_longest_key(self) -> int | None:
        """Return the most characters of an Idempotency-Key where the view keeps answers itself; None where all POSTs share one way."""
        return None

    def keeps_answers(self) -> bool:
        """Return whether an answer is kept for the request's Idempotency-Key."""
        return True

    def asks_nodes(self) -> bool:
        """Return whether this request asks nodes, and is safe to repeat: no transaction is held then for an Idempotency-Key."""
        return False

    def limit_now(self) -> Limit:
        """Return the limit of this request."""
        return self.other_limit

    def is_operation(self) -> bool:
        """Return whether the view has this request's method; one that it lacks gets a 405, whatever the key may do."""
        return True

    def required_scope(self) -> Scope | None:
        """Return the scope that this request needs; None: any key may. Raises LookupError where none was named."""
        raise LookupError(f"{type(self).__name__} names no scope")

    def count_as(self, request: Request, limit: Limit) -> None:
        """Count a request against a second limit that only its body determines. Raises RateLimitError."""
        principal: Any = request.auth
        _count(django_request(request), limit, principal.key_id)


class ApiViewSet(ViewSetMixin, ApiView):
    """A resource: actions on its collection and its objects, with a scope and a limit per action.

    `scopes` maps each action to the scope that a key needs; None: any key may. An action that is not named is refused.
    `limits` maps an action to its limit; other actions and unknown methods use `other_limit`. `own_keys` maps actions that keep
    the answers of an Idempotency-Key themselves to the longest key that each takes. `unkept` has the actions that keep none, because an
    answer has a secret that is stored nowhere: a repeat is carried out again, so it must be safe. `asking` has the actions that ask nodes.
    """

    scopes: ClassVar[Mapping[str, Scope | None]] = {}
    limits: ClassVar[Mapping[str, Limit]] = {}
    own_keys: ClassVar[Mapping[str, int]] = {}
    unkept: ClassVar[Collection[str]] = ()
    asking: ClassVar[Collection[str]] = ()

    def is_operation(self) -> bool:
        """Return whether the resource has this request's method."""
        return self.action in self.action_map.values()

    def required_scope(self) -> Scope | None:
        """Return the scope of this request's action. Raises LookupError where none was named."""
        return self.scopes[self.action]

    def limit_now(self) -> Limit:
        """Return the limit of this request's action."""
        return self.limits.get(self.action or "", self.other_limit)

    def own_longest_key(self) -> int | None:
        """Return the longest key of an action that keeps answers itself, or none."""
        return self.own_keys.get(self.action or "") if self.keeps_answers() else LONGEST

    def keeps_answers(self) -> bool:
        """Return whether answers of this request's action are kept."""
        return self.action not in self.unkept

    def asks_nodes(self) -> bool:
        """Return whether this request's action asks nodes."""
        return self.action in self.asking


class ApiRouter(SimpleRouter):
    """Routes without a trailing slash. An id may be any text: the resource decides which ids exist."""

    def __init__(self) -> None:
        super().__init__(trailing_slash=False, use_regex_path=False)


def _refuse_encoded(request: Request) -> None:
    """Raise MediaTypeError for a compressed body: a small one may be larger than memory once it is read."""
    named = request.META.get("HTTP_CONTENT_ENCODING", "")
    if any(name.strip().lower() not in {"", "identity"} for name in named.split(",")):
        raise errors.MediaTypeError("Send the body without Content-Encoding.")


def count_address(request: HttpRequest, limit: Limit = rate_limits.PER_ADDRESS) -> None:
    """Count a request without a valid key against its client address. Raises RateLimitError."""
    _count(request, limit, limited_as(client_address(request)))


def _count(request: HttpRequest, limit: Limit, identity: str) -> None:
    if (counted := counted_before(request)) is not None:
        request.rate_state = counted  # type: ignore[attr-defined]
        return
    now = time.time()
    state = rate_limits.hit(limit, identity, now=now)
    request.rate_state = state  # type: ignore[attr-defined]
    if state.exceeded:
        raise errors.RateLimitError(max(1, state.reset - int(now)))


class RouteMissing(ApiView):
    """Answers every unknown path of the API."""

    key_required = False

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Count the request, then refuse it, for any method. Raises NotFoundError."""
        super().initial(request, *args, **kwargs)
        raise errors.NotFoundError(f"There is no route {request.path}.", code="route_missing")


def handle_exception(error: Exception, context: Mapping[str, Any]) -> Response:
    """Render any exception as the error envelope. Unknown ones are logged and answered 500."""
    known = _as_gateway_error(error)
    if known is None:
        view = type(context.get("view")).__name__
        log.error("unhandled error in the API", view=view, exc_info=error)
        known = errors.GatewayError("Something went wrong on our side. Please try again.")
    headers = known.headers()
    if isinstance(error, drf.MethodNotAllowed):
        headers["Allow"] = ", ".join(context["view"].allowed_methods)
    return Response(known.body(), status=known.status, headers=headers)


def _as_gateway_error(error: Exception) -> errors.GatewayError | None:
    match error:
        case errors.GatewayError():
            return error
        case Http404():
            return errors.NotFoundError("There is no such object.")
        case drf.MethodNotAllowed():
            return errors.MethodNotAllowedError("This route does not take that method.")
        case drf.UnsupportedMediaType():
            return errors.MediaTypeError("Send the body as 'Content-Type: application/json'.")
        case RequestDataTooBig():
            return errors.BodyTooLargeError("The request body is larger than 256 KB.")
        case SuspiciousOperation():
            return errors.InvalidRequestError("The request cannot be understood.")
    return None
