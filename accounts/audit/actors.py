"""Who does something, as services and the audit log take it."""

from dataclasses import dataclass
from typing import Any, Final, cast

from django.http import HttpRequest
from rest_framework.request import Request

from accounts.models import User
from gateway.core.web.client_address import address_or_none


@dataclass(frozen=True, slots=True)
class Actor:
    """A person (`user`), or what `label` names, such as an API key; with neither, the system.

    `address` is the client's.
    """

    user: User | None = None
    label: str = ""
    address: str | None = None

    @property
    def name(self) -> str:
        """Return what people read: the label, the person's email address, or "system"."""
        return self.label or (self.user.email if self.user else "system")

    @property
    def person(self) -> User:
        """Return the person. Raises ValueError for an actor that is none."""
        if self.user is None:
            raise ValueError(f"{self.name} is no person")
        return self.user


SYSTEM: Final = Actor()


def actor_of(request: HttpRequest) -> Actor:
    """Return who sends an authenticated request: the API key of a DRF request, else the logged-in person."""
    address = address_or_none(request)
    if isinstance(request, Request):
        return Actor(label=f"API key {cast('Any', request.auth).key_id}", address=address)
    return Actor(cast("User", request.user), address=address)
