"""Routes of the facade, below /btcpay/: what plugins call, and the pages that they send people to. Addresses are BTCPay Server's."""

from collections.abc import Mapping
from typing import Any

from django.urls import URLPattern, path, re_path

from greenfield import pages
from greenfield.api import InvoiceViewSet, PullPaymentViewSet, ServerViewSet, StoreViewSet, WebhookViewSet
from greenfield.facade import FacadeRouteMissing, answer_slashed

_STORE = "stores/<str:store_id>"
_INVOICE = f"{_STORE}/invoices/<str:invoice_id>"


def _route(address: str, resource: Any, actions: Mapping[str, str]) -> URLPattern:
    found: URLPattern = path(f"api/v1/{address}", resource.as_view(actions))
    return found


urlpatterns = [
    _route("server/info", ServerViewSet, {"get": "info"}),
    _route("api-keys/current", ServerViewSet, {"get": "current_key"}),
    _route("stores", StoreViewSet, {"get": "list"}),
    _route(_STORE, StoreViewSet, {"get": "retrieve"}),
    _route(f"{_STORE}/payment-methods", StoreViewSet, {"get": "methods"}),
    # As BTCPay Server 1 had them. PrestaShop's plugin offers nothing to a buyer without an answer to both.
    _route(f"{_STORE}/payment-methods/OnChain", StoreViewSet, {"get": "on_chain"}),
    _route(f"{_STORE}/payment-methods/LightningNetwork", StoreViewSet, {"get": "lightning"}),
    _route(f"{_STORE}/invoices", InvoiceViewSet, {"get": "list", "post": "create"}),
    _route(_INVOICE, InvoiceViewSet, {"get": "retrieve"}),
    _route(f"{_INVOICE}/payment-methods", InvoiceViewSet, {"get": "methods"}),
    _route(f"{_INVOICE}/status", InvoiceViewSet, {"post": "mark"}),
    _route(f"{_INVOICE}/refund", InvoiceViewSet, {"post": "refund"}),
    _route(f"{_STORE}/pull-payments", PullPaymentViewSet, {"post": "create"}),
    _route(f"{_STORE}/webhooks", WebhookViewSet, {"get": "list", "post": "create"}),
    _route(
        f"{_STORE}/webhooks/<str:webhook_id>", WebhookViewSet, {"get": "retrieve", "put": "update", "delete": "destroy"}
    ),
    re_path(r"^api/.*[^/]/$", answer_slashed),
    # Last, so that every other path gets an error in BTCPay Server's form.
    re_path(r"^api/", FacadeRouteMissing.as_view()),
    path("api-keys/authorize", pages.authorize, name="greenfield_authorize"),
    # Shopware's plugin writes a slash.
    path("api-keys/authorize/", pages.authorize),
    path("i/<str:invoice_id>", pages.checkout, name="greenfield_checkout"),
    path("invoices/<str:invoice_id>", pages.dashboard, name="greenfield_dashboard"),
    path("modal/btcpay.js", pages.modal, name="greenfield_modal"),
]
