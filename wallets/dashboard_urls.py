"""A merchant's own pages that this app has, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from wallets import dashboard

urlpatterns = [
    path("receiving-wallets/", dashboard.wallets, name="dashboard_receiving_wallets"),
    path("receiving-wallets/wait/", dashboard.wait, name="dashboard_wallet_wait"),
    path(
        "receiving-wallets/changes/<int:change_id>/cancel/",
        dashboard.cancel,
        name="dashboard_cancel_wallet_change",
    ),
    path(
        "receiving-wallets/<str:chain>/",
        dashboard.wallet,
        name="dashboard_receiving_wallet",
    ),
    path(
        "receiving-wallets/<str:chain>/set/",
        dashboard.set_wallet,
        name="dashboard_set_receiving_wallet",
    ),
]
