"""Routes of the merchant's page about prices, under /dashboard/<merchant>/<mode>/."""

from django.urls import path

from rates.dashboard import pages

urlpatterns = [
    path("prices/", pages.prices, name="dashboard_prices"),
    path("prices/currency/", pages.currency, name="dashboard_price_currency"),
    path("prices/margin/", pages.margin, name="dashboard_rate_margin"),
]
