"""The control most teams would write: ModelSerializer, ORM, the key looked up with every request.

It writes the same rows as the product's `POST /checkouts`.
"""

import hashlib
import os
import secrets
from datetime import timedelta
from typing import Any

import redis
from django.conf import settings
from django.db import transaction
from django.urls import path
from django.utils import timezone
from rest_framework import exceptions, serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import ApiKey
from checkouts.models import Checkout, CheckoutCount
from gateway.core.ids import new_id
from wallets.forwarders.addresses import checksum, deposit_key
from wallets.models import DepositAddress, ReceivingWallet

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
_counters = redis.Redis.from_url(settings.REDIS_URL)


class KeyAuthentication(BaseAuthentication):
    """Looks the key up."""

    def authenticate(self, request: Request) -> Any:
        """Return the key's row."""
        token = request.META.get("HTTP_AUTHORIZATION", "").removeprefix("Bearer ")
        digest = hashlib.sha256(token.encode()).digest()
        key = ApiKey.objects.select_related("merchant").filter(digest=digest, revoked_at=None).first()
        if key is None:
            raise exceptions.AuthenticationFailed
        return None, key


class CheckoutIn(serializers.ModelSerializer[Checkout]):
    """What is sent."""

    metadata = serializers.JSONField(required=False)

    class Meta:
        model = Checkout
        fields = [
            "amount",
            "currency",
            "description",
            "metadata",
            "redirect_url",
            "customer_ref",
            "product_ref",
            "order_ref",
        ]


class CheckoutOut(serializers.ModelSerializer[Checkout]):
    """What is answered."""

    class Meta:
        model = Checkout
        fields = [
            *("public_id", "status", "amount", "currency", "description", "metadata", "code", "offers"),
            *("customer_ref", "product_ref", "order_ref", "amount_received", "exception", "expires_at", "created_at"),
        ]


class Create(APIView):
    """`POST /checkouts`."""

    authentication_classes = [KeyAuthentication]
    parser_classes = [JSONParser]
    renderer_classes = [JSONRenderer]

    def post(self, request: Request) -> Response:
        """Create a checkout."""
        key: Any = request.auth
        pipeline = _counters.pipeline()
        pipeline.incr(f"control:{key.pk}")
        pipeline.expire(f"control:{key.pk}", 60)
        pipeline.execute()
        form = CheckoutIn(data=request.data)
        form.is_valid(raise_exception=True)
        checkout = _create(key.merchant, form.validated_data)
        return Response(CheckoutOut(checkout).data, status=201)


@transaction.atomic
def _create(merchant: Any, values: dict[str, Any]) -> Checkout:
    order_ref = values.get("order_ref", "")
    same = Checkout.objects.filter(merchant=merchant, mode="live", creation_ref=order_ref, amount=values["amount"])
    if order_ref and (known := same.first()):
        return known
    wallets = ReceivingWallet.objects.filter(merchant=merchant, retired_at=None)
    nonce, now = secrets.token_bytes(32), timezone.now()
    offers, keys = {}, {}
    for wallet in wallets:
        destination = bytes.fromhex(wallet.address[2:])
        keys[destination] = deposit_key(destination, nonce)
        offers[wallet.chain] = {"tokens": ["USDC"], "address": checksum(keys[destination])}
    checkout = Checkout.objects.create(
        public_id=new_id("chk_live"),
        merchant=merchant,
        mode="live",
        offers=offers,
        deposit_nonce=nonce,
        creation_ref=order_ref or None,
        expires_at=now + timedelta(minutes=30),
        **values,
    )
    for destination, key in keys.items():
        DepositAddress.objects.create(
            key=key, destination=destination, nonce=nonce, merchant=merchant, mode="live", watched_until=now
        )
    CheckoutCount.objects.create(merchant=merchant, mode="live", status="pending", value=1)
    return checkout


urlpatterns = [path("api/v1/checkouts", Create.as_view())]
