"""Every route of the product."""

from django.urls import include, path, re_path

from gateway.core.api.views import RouteMissing
from gateway.operator.tables import site as operator
from gateway.pages import health, signing_keys
from gateway.pages.api_document import OpenApiDocumentView
from gateway.pages.home import home
from gateway.status import views as status
from greenfield.facade import answer_at_root

urlpatterns = [
    path("api/v1/", include("checkouts.urls")),
    path("api/v1/", include("x402.urls")),
    path("api/v1/", include("links.urls")),
    path("api/v1/", include("payouts.urls")),
    path("api/v1/", include("reports.urls")),
    path("api/v1/", include("accounts.api_urls")),
    path("api/v1/", include("wallets.urls")),
    path("api/v1/", include("webhooks.urls")),
    path("api/v1/", include("rates.urls")),
    path("api/v1/openapi.json", OpenApiDocumentView.as_view(), name="openapi"),
    # Shopware's plugin asks here, whatever path the address has that it was given. Our own API has nothing by this name.
    re_path(r"^api/v1/stores\b", answer_at_root),
    # Last, so that every other path of the API gets the error envelope and headers.
    re_path(r"^api/", RouteMissing.as_view()),
    path("btcpay/", include("greenfield.urls")),
    path("", home),
    path("", include("gateway.docs.urls")),
    path("account/", include("accounts.urls")),
    path("dashboard/", include("gateway.dashboard.urls")),
    path("operator/", operator.urls),
    path("healthz", health.alive),
    path("readyz", health.ready, name="ready"),
    path("metrics", health.metrics),
    path("status", status.status_page, name="status"),
    path("status.json", status.status_json, name="status-json"),
    path(".well-known/jwks.json", signing_keys.jwks_json, name="jwks"),
    path(".well-known/did.json", signing_keys.did_json, name="did"),
    path("verify", signing_keys.verify, name="verify"),
    path("", include("checkouts.page.urls")),
    path("", include("checkouts.till.urls")),
    path("", include("x402.page")),
    path("", include("links.page.urls")),
    path("", include("payouts.page.urls")),
    path("", include("accounts.brand.urls")),
    path("", include("notices.page.urls")),
]
