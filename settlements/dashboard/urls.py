"""Routes of the merchant's settlement pages, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from settlements.dashboard import actions, pages

urlpatterns = [
    path("settlements/", pages.settlements, name="dashboard_settlements"),
    path("settlements/export/", pages.export, name="dashboard_settlements_csv"),
    path("settlements/settle/", actions.settle, name="dashboard_settle"),
    path("settlements/intervals/", actions.intervals, name="dashboard_settlement_intervals"),
    path("settlements/by-wallet/", actions.settle_by_wallet, name="dashboard_settle_by_wallet"),
    path("settlements/by-wallet/<str:batch>/", actions.wallet_settlement, name="dashboard_wallet_settlement"),
    path("settlements/<str:settlement_id>/", pages.settlement, name="dashboard_settlement"),
]
