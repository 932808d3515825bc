"""The base of the facade's resources: the key in BTCPay Server's header, one store, and errors in BTCPay Server's form."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import resolve
from django.views.decorators.csrf import csrf_exempt
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import Principal, principal_of, principal_of_request
from accounts.models import Merchant
from gateway.core.api.errors import AuthenticationError, NotFoundError
from gateway.core.api.views import ApiView, ApiViewSet, RouteMissing, handle_exception
from greenfield.permissions import opening

_WANTED: Final = "Send your API key as 'Authorization: token <key>'."
# Our parameters in BTCPay Server's names, for the path of an error.
_PATHS: Final[Mapping[str, str]] = {
    "redirect_url": "checkout.redirectURL",
    "expires_in": "checkout.expirationMinutes",
    "order_ref": "metadata.orderId",
    "events": "authorizedEvents.specificEvents",
    "source": "name",
}
_MISSING: Final[Mapping[str, str]] = {
    "checkout_id": "invoice-not-found",
    "endpoint_id": "webhook-not-found",
    "store_id": "store-not-found",
}


class TokenAuthentication(BaseAuthentication):
    """Reads `Authorization: token <key>`, and Bearer as our own API does."""

    def authenticate(self, request: Request) -> tuple[None, Principal]:
        """Return the principal as `request.auth`. Raises AuthenticationError."""
        scheme, _, key = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if not scheme:
            raise AuthenticationError(_WANTED, code="key_missing")
        if scheme.lower() not in {"token", "bearer"} or not key.startswith("sk_"):
            raise AuthenticationError(_WANTED, code="key_invalid")
        return None, principal_of(key.strip())

    def authenticate_header(self, request: Request) -> str:
        """Return the `WWW-Authenticate` challenge of a 401."""
        return "token"


class _Unkept(ApiView):
    """Answers that nobody may keep, and errors in BTCPay Server's form."""

    schema = None

    def get_exception_handler(self) -> Callable[..., Response]:
        """Return what answers errors."""
        return answer_error

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Let nobody keep an answer."""
        finished = super().finalize_response(request, response, *args, **kwargs)
        finished["Cache-Control"] = "no-store"
        return finished


class FacadeViewSet(_Unkept, ApiViewSet):
    """A resource of `/btcpay/api/v1`. It is BTCPay Server's API and no part of ours, so our document leaves it out."""

    authentication_classes = [TokenAuthentication]

    def store(self, request: Request, store_id: str) -> Merchant:
        """Return the one store that a key has. Raises NotFoundError for any other id."""
        merchant = Merchant.objects.get(pk=principal_of_request(request).merchant_id)
        if merchant.public_id != store_id:
            raise NotFoundError("There is no such store for this API key.", param="store_id")
        return merchant


@csrf_exempt
def answer_slashed(request: HttpRequest) -> HttpResponseBase:
    """Answer a path with a slash at its end as the path without: BTCPay Server takes both, and PyPI's btcpay-python-sdk writes one."""
    return _answer_at(request, request.path_info.removesuffix("/"))


@csrf_exempt
def answer_at_root(request: HttpRequest) -> HttpResponseBase:
    """Answer a path of BTCPay Server's API at the host's root as the same path below /btcpay.

    Shopware's plugin resolves its paths against the address of the server by the rules of URLs, which drop that address's own path.
    """
    return _answer_at(request, f"/btcpay{request.path_info}")


def _answer_at(request: HttpRequest, path: str) -> HttpResponseBase:
    request.path_info = path
    request.resolver_match = match = resolve(path)
    return match.func(request, *match.args, **match.kwargs)  # type: ignore[no-any-return]  # Django's views are not typed


class FacadeRouteMissing(_Unkept, RouteMissing):
    """Answers every unknown path of the facade."""

    authentication_classes: list[type[BaseAuthentication]] = []


def answer_error(error: Exception, context: Mapping[str, Any]) -> Response:
    """Render an exception as BTCPay Server does: 422 is a list of `path` and `message`, others are `code` and `message`."""
    response = handle_exception(error, context)
    told = response.data["error"]
    message, param = told["message"], told.get("param") or ""
    match response.status_code:
        case 400 | 409:
            response.status_code = 422
            response.data = [{"path": _PATHS.get(param, param), "message": message}]
        case 401:
            response["WWW-Authenticate"] = "token"
            response.data = {"code": "unauthenticated", "message": message}
        case 403 if scope := told.get("required_scope"):
            permission = opening(scope)
            response.data = {
                "code": "missing-permission",
                "message": f"This API key lacks the permission {permission}, which needs the scope {scope}.",
                "missingPermission": permission,
            }
        case 404:
            response.data = {"code": _MISSING.get(param, "not-found"), "message": message}
        case _:
            code = (told.get("code") or told["type"]).replace("_", "-")
            response.data = {"code": code, "message": message}
    return response
