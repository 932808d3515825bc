"""`GET /key`: what the key of a request is."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import principal_of_request
from accounts.models import ApiKey
from accounts.states import Mode
from gateway.core.api.openapi import errors
from gateway.core.api.scopes import SCOPE_CHOICES
from gateway.core.api.views import ApiViewSet
from gateway.core.times import iso, iso_or_none


class KeyMerchant(s.Serializer[Any]):
    """The merchant of a key."""

    id = s.CharField()
    name = s.CharField()


class KeyBody(s.Serializer[Any]):
    """An API key, without its secret."""

    id = s.CharField()
    name = s.CharField()
    mode = s.ChoiceField(Mode.choices)
    merchant = KeyMerchant()
    scopes = s.ListField(child=s.ChoiceField(SCOPE_CHOICES))
    allowed_networks = s.ListField(child=s.CharField(), help_text="In CIDR notation. Empty: it may be used anywhere.")
    expires_at = s.DateTimeField(allow_null=True)
    created_at = s.DateTimeField()


class KeyViewSet(ApiViewSet):
    """`/api/v1/key`."""

    scopes: ClassVar = {"retrieve": None}

    @extend_schema(operation_id="getKey", tags=["Keys"], responses={200: KeyBody, **errors(401, 429)})
    def retrieve(self, request: Request) -> Response:
        """Get the key of this request.

        Its name, mode, scopes, networks and end. Every key may ask this about itself.
        """
        key = ApiKey.objects.select_related("merchant").get(public_id=principal_of_request(request).key_id)
        return Response(_payload(key))


def _payload(key: ApiKey) -> dict[str, Any]:
    return {
        "id": key.public_id,
        "name": key.name,
        "mode": key.mode,
        "merchant": {"id": key.merchant.public_id, "name": key.merchant.name},
        "scopes": key.scopes,
        "allowed_networks": key.allowed_networks,
        "expires_at": iso_or_none(key.expires_at),
        "created_at": iso(key.created_at),
    }
