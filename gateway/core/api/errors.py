"""API errors. Each class carries its HTTP status, type and code; one handler renders them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from gateway.core.texts import pgettext_noop

_NO_VALUES: Final[Mapping[str, object]] = MappingProxyType({})


class GatewayError(Exception):
    """Base of every error with an answer for the client: `{"error": {type, message, param, code}}`.

    The message is in English. One with `values` has them in braces, by name. The dashboard says a marked message in its own language: then
    `form` is looked up, and a value with a `word`, such as a status, is that word.
    """

    status = 500
    type = "api_error"
    code: str | None = "internal"

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        values: Mapping[str, object] = _NO_VALUES,
    ) -> None:
        self.form, self.values = message, values
        self.message = message.format(**values) if values else message
        super().__init__(self.message)
        self.param = param
        if code is not None:
            self.code = code

    def body(self) -> dict[str, Any]:
        """Return the error envelope."""
        return {"error": {"type": self.type, "message": self.message, "param": self.param, "code": self.code}}

    def headers(self) -> dict[str, str]:
        """Return the extra headers of the response."""
        return {}


class InvalidRequestError(GatewayError):
    """The request cannot be understood; repeating it unchanged will not help."""

    status = 400
    type = "invalid_request"
    code = "parameter_invalid"


class AuthenticationError(GatewayError):
    """No key, an unknown key, or one that was revoked or has expired."""

    status = 401
    type = "authentication"
    code = "key_invalid"

    def headers(self) -> dict[str, str]:
        """Return the challenge that RFC 9110 requires with every 401."""
        return {"WWW-Authenticate": "Bearer"}


class RoleError(GatewayError):
    """The caller is known but may not do this."""

    status = 403
    type = "permission"
    code = "role_insufficient"


class ScopeError(GatewayError):
    """The key lacks the scope of the operation. The answer says nothing about the object that was asked for.

    With a `param`, the operation is open to the key, and that value of it is not.
    """

    status = 403
    type = "permission"
    code = "scope_insufficient"

    def __init__(self, scope: str, *, param: str | None = None) -> None:
        super().__init__(f"This API key lacks the scope {scope}.", param=param)
        self.scope = scope

    def body(self) -> dict[str, Any]:
        """Return the envelope with `required_scope`."""
        told = super().body()
        told["error"]["required_scope"] = self.scope
        return told

    def headers(self) -> dict[str, str]:
        """Return the challenge of RFC 6750, which names the scope."""
        return {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{self.scope}"'}


class NetworkError(GatewayError):
    """The key may not be used from the client's address."""

    status = 403
    type = "permission"
    code = "network_forbidden"


class NotFoundError(GatewayError):
    """No such object for this caller. Another merchant's object gives the same answer."""

    status = 404
    type = "not_found"
    code = "resource_missing"


class MethodNotAllowedError(GatewayError):
    """The route exists, the method does not."""

    status = 405
    type = "invalid_request"
    code = "method_not_allowed"


class BodyLateError(GatewayError):
    """The request's body did not arrive in time."""

    status = 408
    type = "invalid_request"
    code = "body_late"

    def __init__(self) -> None:
        super().__init__("The request body did not arrive in time.")


class ConflictError(GatewayError):
    """The request is well formed, but the current state does not allow it."""

    status = 409
    type = "conflict"
    code = "state_conflict"


class BodyTooLargeError(GatewayError):
    """More bytes than any request of this API needs."""

    status = 413
    type = "invalid_request"
    code = "body_too_large"


class MediaTypeError(GatewayError):
    """The body's media type is not JSON."""

    status = 415
    type = "invalid_request"
    code = "media_type_unsupported"


class RateLimitError(GatewayError):
    """Too many requests in this window."""

    status = 429
    type = "rate_limit"
    code = None

    def __init__(self, retry_after: int) -> None:
        super().__init__(
            pgettext_noop("team", "Too many requests. Retry in {seconds} seconds."), values={"seconds": retry_after}
        )
        self.retry_after = retry_after

    def body(self) -> dict[str, Any]:
        """Return only the two fields that the specification shows for this error."""
        return {"error": {"type": self.type, "message": self.message}}

    def headers(self) -> dict[str, str]:
        """Return Retry-After in seconds."""
        return {"Retry-After": str(self.retry_after)}


class UnavailableError(GatewayError):
    """A service we depend on does not answer; a retry later may succeed."""

    status = 503
    code = "chain_unavailable"
