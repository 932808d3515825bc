"""The merchant's pages: one line for each app that has some. All take `mer_id` and `mode` from the path."""

from django.urls import include, path

from accounts import converters
from gateway import closing

__all__ = ["converters", "urlpatterns"]

urlpatterns = [
    path("", include("accounts.chooser_urls")),
    path(
        "<merchant:mer_id>/<mode:mode>/",
        include(
            [
                path("close-account/", closing.page, name="dashboard_closing"),
                path(
                    "close-account/confirm/",
                    closing.close,
                    name="dashboard_close_account",
                ),
                path("", include("accounts.dashboard_urls")),
                path("", include("checkouts.dashboard_urls")),
                path("", include("links.dashboard_urls")),
                path("", include("reports.dashboard_urls")),
                path("", include("x402.dashboard_urls")),
                path("", include("settlements.dashboard_urls")),
                path("", include("wallets.dashboard_urls")),
                path("", include("webhooks.dashboard_urls")),
            ]
        ),
    ),
]
