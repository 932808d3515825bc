"""A merchant's own pages that this app has, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from wallets import dashboard, dashboard_proofs
from wallets.watched_pages import detail, editing, listing

urlpatterns = [
    path("receiving-wallets/", dashboard.wallets, name="dashboard_receiving_wallets"),
    path("receiving-wallets/wait/", dashboard.wait, name="dashboard_wallet_wait"),
    path(
        "receiving-wallets/changes/<int:change_id>/cancel/",
        dashboard.cancel,
        name="dashboard_cancel_wallet_change",
    ),
    path(
        "receiving-wallets/proofs/<int:proof_id>/",
        dashboard_proofs.prove,
        name="dashboard_prove_receiving_wallet",
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
    path("watched-wallets/", listing.wallets, name="dashboard_watched_wallets"),
    path("watched-wallets/new/", editing.watch, name="dashboard_watch_wallet"),
    path("watched-wallets/live/", listing.live, name="dashboard_watched_wallets_live"),
    path(
        "watched-wallets/<str:wallet_id>/",
        detail.wallet,
        name="dashboard_watched_wallet",
    ),
    path(
        "watched-wallets/<str:wallet_id>/live/",
        detail.live,
        name="dashboard_watched_wallet_live",
    ),
    path(
        "watched-wallets/<str:wallet_id>/export/",
        detail.export,
        name="dashboard_watched_wallet_csv",
    ),
    path(
        "watched-wallets/<str:wallet_id>/edit/",
        editing.edit,
        name="dashboard_edit_watched_wallet",
    ),
    path(
        "watched-wallets/<str:wallet_id>/remove/",
        editing.unwatch,
        name="dashboard_unwatch_wallet",
    ),
]
