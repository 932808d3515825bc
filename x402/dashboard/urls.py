"""Routes of the merchant's x402 pages, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from x402.dashboard import pages, wallets

urlpatterns = [
    path("x402/", pages.payments, name="dashboard_x402"),
    path("x402/export/", pages.export, name="dashboard_x402_csv"),
    path("x402/setup/", pages.setup, name="dashboard_x402_setup"),
    path("x402/forwarders/", pages.forwarders, name="dashboard_x402_forwarders"),
    path("x402/signature/", pages.signature, name="dashboard_x402_signature"),
    path("x402/wallets/proofs/<int:proof_id>/", wallets.prove, name="dashboard_prove_x402_wallet"),
    path("x402/wallets/changes/<int:change_id>/cancel/", wallets.cancel, name="dashboard_cancel_x402_wallet"),
    path("x402/wallets/<str:chain>/", wallets.wallet, name="dashboard_x402_wallet"),
    path("x402/wallets/<str:chain>/set/", wallets.set_wallet, name="dashboard_set_x402_wallet"),
]
