"""`GET /key`: what the key of a request is."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.keys.authentication import principal_of_request
from accounts.models import ApiKey
from accounts.states import Mode
from gateway.core.api.openapi import errors
from gateway.core.api.scopes import SCOPE_CHOICES
from gateway.core.api.serializers import Answer, Moment
from gateway.core.api.views import ApiViewSet


class KeyMerchant(Answer):
    """The merchant of a key."""

    id = s.CharField(source="public_id")
    name = s.CharField()


class KeyBody(Answer):
    """An API key, without its secret."""

    id = s.CharField(source="public_id")
    name = s.CharField()
    mode = s.ChoiceField(Mode.choices)
    merchant = KeyMerchant()
    scopes = s.ListField(child=s.ChoiceField(SCOPE_CHOICES))
    allowed_networks = s.ListField(child=s.CharField(), help_text="In CIDR notation. Empty: it may be used anywhere.")
    expires_at = Moment(allow_null=True)
    created_at = Moment()


class KeyViewSet(ApiViewSet):
    """`/api/v1/key`."""

    scopes: ClassVar = {"retrieve": None}

    @extend_schema(operation_id="getKey", tags=["Keys"], responses={200: KeyBody, **errors(401, 429)})
    def retrieve(self, request: Request) -> Response:
        """Get the key of this request.

        Its name, mode, scopes, networks and end. Every key may ask this about itself.
        """
        key = ApiKey.objects.select_related("merchant").get(public_id=principal_of_request(request).key_id)
        return Response(KeyBody.of(key))
