"""Routes of the merchant's pages: one line per app. All take `mer_id` and `mode` from the path."""

from django.urls import include, path

from accounts.dashboard import converters
from gateway.dashboard import closure

__all__ = ["converters", "urlpatterns"]

urlpatterns = [
    path("", include("accounts.dashboard.chooser_urls")),
    path(
        "<merchant:mer_id>/<mode:mode>/",
        include(
            [
                path("close-account/", closure.page, name="dashboard_closing"),
                path("close-account/confirm/", closure.close, name="dashboard_close_account"),
                path("", include("accounts.dashboard.urls")),
                path("", include("checkouts.dashboard.urls")),
                path("", include("links.dashboard.urls")),
                path("", include("payouts.dashboard.urls")),
                path("", include("notices.dashboard.urls")),
                path("", include("reports.dashboard.urls")),
                path("", include("x402.dashboard.urls")),
                path("", include("settlements.dashboard.urls")),
                path("", include("wallets.dashboard.urls")),
                path("", include("webhooks.dashboard.urls")),
                path("", include("rates.dashboard.urls")),
            ]
        ),
    ),
]
