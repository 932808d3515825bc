"""The routes of BTCPay Server's Greenfield API that shop plugins call, below `/btcpay/api/v1`. Other routes of it are 404."""

from typing import ClassVar, Final

from django.utils import timezone
from django.views.decorators.debug import sensitive_variables
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.audit.actors import actor_of
from accounts.keys.authentication import principal_of_request
from accounts.models import ApiKey, Merchant
from accounts.states import Mode
from checkouts.lifecycle.endings import cancel_checkout
from checkouts.selectors import checkout_row
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.api.fields import refuse
from gateway.core.api.rate_limits import Limit
from gateway.core.api.scopes import Scope
from gateway.core.api.wire import json_body
from greenfield import objects
from greenfield.bodies import read_invoice, read_webhook
from greenfield.creation import create_invoice
from greenfield.facade import FacadeViewSet
from greenfield.methods import ids, offered_pairs
from greenfield.permissions import held_by, of_store, reads_older_answers
from greenfield.refunds import Asker, Pulled, pull_payment, refund_invoice
from greenfield.selectors import connection_of, invoice, invoice_methods, invoice_page, paid_checkout
from greenfield.webhooks import add_webhook, change_webhook, webhook_named, webhook_object, webhooks_of
from payouts.selectors import payout_named, payout_objects
from wallets.selectors import configured_chains
from webhooks.listed.service import delete_endpoint

# PrestaShop's plugin asks five times for each buyer who comes to the list of ways to pay, and offers nothing where one is refused;
# Magento's reads each unpaid invoice every five minutes, those that ended too.
_OTHER: Final = Limit("greenfield", 600)


class ServerViewSet(FacadeViewSet):
    """`/server/info` and `/api-keys/current`: what plugins ask before they ask for anything else."""

    scopes: ClassVar = {"info": None, "current_key": None}
    other_limit: ClassVar = _OTHER

    def info(self, request: Request) -> Response:
        """Return the version that the facade is like, and the payment methods of the key's store."""
        principal = principal_of_request(request)
        return Response(objects.server_object(offered_pairs(configured_chains(principal.merchant_id, principal.mode))))

    @sensitive_variables("secret")
    def current_key(self, request: Request) -> Response:
        """Return the key of the request, with exactly the permissions that it was asked for: some plugins refuse one more or less."""
        key = ApiKey.objects.select_related("merchant").get(public_id=principal_of_request(request).key_id)
        asked = connection_of(key.public_id)
        names = asked.permissions if asked else held_by(key.scopes)
        _, _, secret = request.META["HTTP_AUTHORIZATION"].partition(" ")
        return Response(
            {"apiKey": secret.strip(), "label": key.name, "permissions": of_store(names, key.merchant.public_id)}
        )


class StoreViewSet(FacadeViewSet):
    """`/stores`: a key has one, its merchant."""

    scopes: ClassVar = dict.fromkeys(("list", "retrieve", "methods", "on_chain", "lightning"), Scope.CHECKOUTS_READ)
    other_limit: ClassVar = _OTHER

    def list(self, request: Request) -> Response:
        """List the one store."""
        merchant = Merchant.objects.get(pk=principal_of_request(request).merchant_id)
        return Response([objects.store_object(merchant.public_id, merchant.name)])

    def retrieve(self, request: Request, store_id: str) -> Response:
        """Return the store."""
        merchant = self.store(request, store_id)
        return Response(objects.store_object(merchant.public_id, merchant.name))

    def methods(self, request: Request, store_id: str) -> Response:
        """List the payment methods that the store has set up; to an older library as an object, by their ids."""
        merchant, principal = self.store(request, store_id), principal_of_request(request)
        names, connection = _offered(merchant, principal.mode), connection_of(principal.key_id)
        if connection is not None and reads_older_answers(connection.permissions):
            return Response({name: {"enabled": True, "data": {}} for name in names})
        return Response([{"paymentMethodId": name, "enabled": True, "config": None} for name in names])

    def on_chain(self, request: Request, store_id: str) -> Response:
        """List them as BTCPay Server 1 did: every one is on a chain."""
        merchant = self.store(request, store_id)
        names = _offered(merchant, principal_of_request(request).mode)
        return Response([{"enabled": True, "cryptoCode": name} for name in names])

    def lightning(self, request: Request, store_id: str) -> Response:
        """List no Lightning networks."""
        self.store(request, store_id)
        return Response([])


class InvoiceViewSet(FacadeViewSet):
    """`/stores/{id}/invoices`."""

    scopes: ClassVar = {
        "list": Scope.CHECKOUTS_READ,
        "create": Scope.CHECKOUTS_WRITE,
        "retrieve": Scope.CHECKOUTS_READ,
        "methods": Scope.CHECKOUTS_READ,
        "mark": Scope.CHECKOUTS_WRITE,
        "refund": Scope.PAYOUTS_REQUEST,
    }
    # A limit each for reading and writing: a plugin that polls makes no order fail.
    limits: ClassVar = {
        "create": Limit("greenfield.create", 60),
        "list": Limit("greenfield.list", 30),
        "refund": Limit("greenfield.refund", 60),
    }
    other_limit: ClassVar = _OTHER

    def list(self, request: Request, store_id: str) -> Response:
        """List invoices, newest first: every checkout of the merchant is one."""
        merchant = self.store(request, store_id)
        return Response(invoice_page(merchant, principal_of_request(request).mode, request.query_params))

    def create(self, request: Request, store_id: str) -> Response:
        """Create an invoice, or return the one that the order has."""
        merchant, mode = self.store(request, store_id), principal_of_request(request).mode
        public_id = create_invoice(merchant, mode, read_invoice(json_body(request)), now=timezone.now())
        return Response(invoice(merchant, mode, public_id))

    def retrieve(self, request: Request, store_id: str, invoice_id: str) -> Response:
        """Return an invoice."""
        merchant = self.store(request, store_id)
        return Response(invoice(merchant, principal_of_request(request).mode, invoice_id))

    def methods(self, request: Request, store_id: str, invoice_id: str) -> Response:
        """List an invoice's payment methods, with what was paid by each."""
        merchant = self.store(request, store_id)
        return Response(invoice_methods(merchant, principal_of_request(request).mode, invoice_id))

    def mark(self, request: Request, store_id: str, invoice_id: str) -> Response:
        """Cancel an unpaid invoice, which BTCPay Server calls marking it invalid. Nothing marks one as paid."""
        merchant, mode = self.store(request, store_id), principal_of_request(request).mode
        row = checkout_row(merchant.pk, mode, invoice_id)
        said = json_body(request).get("status")
        # BTCPay Server reads names of its states in any case.
        wanted = said.capitalize() if isinstance(said, str) else said
        is_paid = row.status == CheckoutStatus.COMPLETED and row.exception != CheckoutException.REVERSED
        if wanted == "Settled" and not is_paid:
            raise refuse(
                "status", "Florin settles only what was paid. Accept a short or late payment in the dashboard."
            )
        if wanted not in ("Invalid", "Settled"):
            raise refuse("status", "status must be Invalid or Settled.")
        if wanted == "Invalid":
            cancel_checkout(row.id, actor=actor_of(request), now=timezone.now())
        return Response(invoice(merchant, mode, invoice_id))

    def refund(self, request: Request, store_id: str, invoice_id: str) -> Response:
        """Ask for a refund, which the buyer claims."""
        asker = _asker(request, self.store(request, store_id))
        checkout = paid_checkout(asker.merchant, asker.mode, invoice_id)
        return _pulled(asker, refund_invoice(asker, checkout, json_body(request)))


class PullPaymentViewSet(FacadeViewSet):
    """`/stores/{id}/pull-payments`."""

    scopes: ClassVar = {"create": Scope.PAYOUTS_REQUEST}
    other_limit: ClassVar = Limit("greenfield.refund", 60)

    def create(self, request: Request, store_id: str) -> Response:
        """Ask for a refund or a payout, which its recipient claims."""
        asker = _asker(request, self.store(request, store_id))
        return _pulled(asker, pull_payment(asker, json_body(request)))


class WebhookViewSet(FacadeViewSet):
    """`/stores/{id}/webhooks`."""

    scopes: ClassVar = {
        "list": Scope.WEBHOOKS_READ,
        "create": Scope.WEBHOOKS_WRITE,
        "retrieve": Scope.WEBHOOKS_READ,
        "update": Scope.WEBHOOKS_WRITE,
        "destroy": Scope.WEBHOOKS_WRITE,
    }
    other_limit: ClassVar = Limit("greenfield.webhooks", 60)

    def list(self, request: Request, store_id: str) -> Response:
        """List the plugins' webhooks."""
        merchant = self.store(request, store_id)
        return Response([webhook_object(one) for one in webhooks_of(merchant, principal_of_request(request).mode)])

    @sensitive_variables("wanted", "secret")
    def create(self, request: Request, store_id: str) -> Response:
        """Add a webhook. No other answer has its secret."""
        merchant, principal = self.store(request, store_id), principal_of_request(request)
        wanted = read_webhook(json_body(request))
        endpoint, secret = add_webhook(
            merchant, principal.mode, wanted, key_id=principal.key_id, now=timezone.now(), actor=actor_of(request)
        )
        return Response(webhook_object(endpoint) | {"secret": secret})

    def retrieve(self, request: Request, store_id: str, webhook_id: str) -> Response:
        """Return a webhook."""
        merchant = self.store(request, store_id)
        return Response(webhook_object(webhook_named(merchant, principal_of_request(request).mode, webhook_id)))

    @sensitive_variables("wanted")
    def update(self, request: Request, store_id: str, webhook_id: str) -> Response:
        """Change a webhook. Without a secret it keeps the one it has."""
        merchant, principal = self.store(request, store_id), principal_of_request(request)
        endpoint, wanted = webhook_named(merchant, principal.mode, webhook_id), read_webhook(json_body(request))
        return Response(webhook_object(change_webhook(endpoint, wanted, now=timezone.now(), actor=actor_of(request))))

    def destroy(self, request: Request, store_id: str, webhook_id: str) -> Response:
        """Delete a webhook. The library takes no other status than 200."""
        endpoint = webhook_named(self.store(request, store_id), principal_of_request(request).mode, webhook_id)
        delete_endpoint(endpoint, now=timezone.now(), actor=actor_of(request))
        return Response({})


def _offered(merchant: Merchant, mode: Mode) -> list[str]:
    """Return the ids of the payment methods that a store has set up.

    As in BTCPay Server, also while no network is read: a plugin that found none would offer buyers nothing, or turn itself off.
    """
    return ids(offered_pairs(configured_chains(merchant.pk, mode)))


def _asker(request: Request, merchant: Merchant) -> Asker:
    principal = principal_of_request(request)
    return Asker(merchant, principal.mode, principal.key_id, actor_of(request), timezone.now())


def _pulled(asker: Asker, pulled: Pulled) -> Response:
    payout = payout_named(asker.merchant.pk, asker.mode, pulled.asked.payout.public_id)
    # Keys without `payouts:request` never come here.
    [body] = payout_objects([payout], shows_claims=True, code=pulled.asked.code)
    told = objects.pull_payment_object(body, name=pulled.name, description=pulled.description, currency=pulled.currency)
    return Response(told)
