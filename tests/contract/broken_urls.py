"""The product's routes and some that break, for tests of what a client sees then."""

from typing import Any

from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import path

from gateway.core.api.errors import RoleError, UnavailableError
from gateway.core.api.views import ApiView
from gateway.urls import urlpatterns as real

SECRET = "sk_live_would-be-a-secret"


class Breaking(ApiView):
    """Fails in the way its path names."""

    key_required = False

    def get(self, request: Any, kind: str) -> Any:
        """Raise."""
        raise {
            "bug": ZeroDivisionError(SECRET),
            "denied": PermissionDenied(SECRET),
            "role": RoleError("Only an owner may do this."),
            "node": UnavailableError("The chain's node does not answer."),
        }[kind]

    post = get


def plain(request: HttpRequest, kind: str) -> HttpResponse:
    """Raise outside DRF."""
    raise {"bug": ZeroDivisionError(SECRET), "bad": BadRequest(SECRET)}[kind]


urlpatterns = [path("api/v1/broken/<str:kind>", Breaking.as_view()), path("api/v1/plain/<str:kind>", plain), *real]
