"""Routes of the merchant's wallet pages, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from wallets.dashboard import pages
from wallets.dashboard.watched import edit
from wallets.dashboard.watched import pages as watched

urlpatterns = [
    path("receiving-wallets/", pages.wallets, name="dashboard_receiving_wallets"),
    path("receiving-wallets/wait/", pages.wait, name="dashboard_wallet_wait"),
    path("receiving-wallets/changes/<int:change_id>/cancel/", pages.cancel, name="dashboard_cancel_wallet_change"),
    path("receiving-wallets/proofs/<int:proof_id>/", pages.prove, name="dashboard_prove_receiving_wallet"),
    path("receiving-wallets/<str:chain>/", pages.wallet, name="dashboard_receiving_wallet"),
    path("receiving-wallets/<str:chain>/set/", pages.set_wallet, name="dashboard_set_receiving_wallet"),
    path("watched-wallets/", watched.wallets, name="dashboard_watched_wallets"),
    path("watched-wallets/new/", edit.watch, name="dashboard_watch_wallet"),
    path("watched-wallets/live/", watched.wallets_live, name="dashboard_watched_wallets_live"),
    path("watched-wallets/<str:wallet_id>/", watched.wallet, name="dashboard_watched_wallet"),
    path("watched-wallets/<str:wallet_id>/live/", watched.wallet_live, name="dashboard_watched_wallet_live"),
    path("watched-wallets/<str:wallet_id>/export/", watched.export, name="dashboard_watched_wallet_csv"),
    path("watched-wallets/<str:wallet_id>/edit/", edit.edit, name="dashboard_edit_watched_wallet"),
    path("watched-wallets/<str:wallet_id>/remove/", edit.unwatch, name="dashboard_unwatch_wallet"),
]
