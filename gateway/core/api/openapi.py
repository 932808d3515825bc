"""Pieces shared by all routes' OpenAPI descriptions."""

import inspect
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema_serializer, inline_serializer
from rest_framework import serializers as s

from gateway.core.api.idempotency import HEADER, LONGEST
from gateway.core.api.pagination import DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET
from gateway.core.api.scopes import SCOPE_CHOICES, Scope

PAGE_PARAMETERS = [
    OpenApiParameter("limit", {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}),
    OpenApiParameter("offset", {"type": "integer", "minimum": 0, "maximum": MAX_OFFSET, "default": 0}),
    OpenApiParameter("starting_after", str, description="Page by key: the id of the last object seen."),
    OpenApiParameter("include_total", bool, description="false leaves out `total`."),
]

KEEPS_NONE = "No answer is kept for it, because it has a secret: a repeat is carried out again."
"""The description of an Idempotency-Key that only lets a request be repeated."""

# A repeat with the same one answers the first object. No other field of a body is called so.
_NAMING = {"order_ref", "reference"}

_MEANINGS = {
    400: "The request is invalid. `param` names the field.",
    401: "The API key is missing, unknown, revoked or expired.",
    403: "The API key lacks the scope of `x-required-scope`, or may not be used from this address.",
    404: "There is no such object in this key's account and mode.",
    408: "The body did not arrive within ten seconds.",
    409: "The object's current state does not allow this.",
    413: "The body is larger than 256 KB.",
    415: "The body is not JSON.",
    429: "Too many requests.",
    503: "A chain does not answer, a price has no agreed rate, or the server is overloaded. Try again.",
}


class ErrorDetail(s.Serializer[None]):
    """What went wrong. `param` and `code` are null where they do not apply, and absent with 429."""

    type = s.CharField()
    message = s.CharField()
    param = s.CharField(allow_null=True, required=False)
    code = s.CharField(allow_null=True, required=False)
    refundable = s.CharField(required=False, help_text="With `amount_not_refundable` alone: what can be refunded.")
    required_scope = s.ChoiceField(SCOPE_CHOICES, required=False, help_text="With `scope_insufficient` alone.")


class ErrorBody(s.Serializer[None]):
    """The envelope of every error."""

    error = ErrorDetail()


def errors(*statuses: int) -> dict[int, OpenApiResponse]:
    """Return the error responses of a route. One that needs a key (401) may also refuse what the key may not do (403).

    One that reads a body (413) may also answer 408 or 503.
    """
    told = {*statuses, *([403] if 401 in statuses else []), *([408, 503] if 413 in statuses else [])}
    return {status: OpenApiResponse(ErrorBody, description=_MEANINGS[status]) for status in sorted(told)}


def paginated(name: str, item: type[s.Serializer[None]]) -> s.Serializer[Any]:
    """Return the shape of a page of `item`."""
    fields = {"total": s.IntegerField(required=False), "limit": s.IntegerField(), "offset": s.IntegerField()}
    return listed(name, item, **fields)


def listed(name: str, item: type[s.Serializer[None]], **fields: s.Field[Any, Any, Any, Any]) -> s.Serializer[Any]:
    """Return the shape of an object with a list of `item` as `data`, and other fields."""
    made: s.Serializer[Any] = inline_serializer(name, {"data": item(many=True), **fields})
    # Otherwise the response of the action `list` would be described as an array of these.
    extend_schema_serializer(many=False)(type(made))
    return made


class DescribedSchema(AutoSchema):
    """Takes an operation's summary from its docstring's first line, and its description from the rest."""

    def get_summary(self) -> str:
        """Return the first line without its full stop."""
        return self._docstring().partition("\n")[0].removesuffix(".")

    def get_description(self) -> str:  # type: ignore[override]  # drf-spectacular calls it without arguments
        """Return the paragraphs below the first line, or that line where there are none."""
        first, _, rest = self._docstring().partition("\n")
        return rest.strip() or first

    def get_auth(self) -> list[dict[str, list[str]]]:
        """Return the security requirement: an API key, with the operation's scope."""
        scope = _scope_of(self.view)
        found: list[dict[str, list[str]]] = super().get_auth()
        return [{name: [scope] if scope else [] for name in each} for each in found]

    def get_extensions(self) -> dict[str, Any]:
        """Return the operation's scope once more, and what makes a repeat safe, for programs that make clients."""
        found = super().get_extensions()
        scope = _scope_of(self.view)
        repeats = self._safe_repeats()
        return (
            found
            | ({"x-required-scope": str(scope)} if scope else {})
            | ({"x-idempotency": repeats} if repeats else {})
        )

    def get_override_parameters(self) -> Any:
        """Return the parameters that are declared, and of a POST the header that lets it be repeated."""
        found = super().get_override_parameters()
        return [*found, *_repeats(self.view)] if self.method == "POST" and _needs_key(self.view) else found

    def _safe_repeats(self) -> list[str]:
        """Return the field of a POST's body that names one thing for ever, and the header that does for some time."""
        if self.method != "POST" or not _needs_key(self.view):
            return []
        body = self.get_request_serializer()
        return [*(_NAMING & getattr(body, "_declared_fields", {}).keys()), HEADER]

    def _docstring(self) -> str:
        method: Any = getattr(self.view, getattr(self.view, "action", self.method.lower()))
        return inspect.getdoc(method) or ""


def _scope_of(view: Any) -> Scope | None:
    return view.required_scope() if _needs_key(view) else None


def _needs_key(view: Any) -> bool:
    # Webhooks are described by a view of the library's, which has no key.
    return bool(getattr(view, "key_required", False))


def _repeats(view: Any) -> list[OpenApiParameter]:
    own = view.own_longest_key()
    kind = {"type": "string", "minLength": 1, "maxLength": own or LONGEST}
    kept = "seven days, if it accepted a payment" if own else "24 hours, if it is no error"
    text = f"The same key with the same body gets the first answer again for {kept}. With another body it is a 409."
    if not view.keeps_answers():
        text = KEEPS_NONE
    return [OpenApiParameter(HEADER, kind, OpenApiParameter.HEADER, description=text)]


class BearerKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Describes the API key."""

    target_class = "accounts.keys.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        """Return the security scheme object."""
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "sk_live_… or sk_test_…",
            "description": "An API key from the dashboard. `sk_live_` keys watch chains, `sk_test_` keys simulate payments.",
        }
