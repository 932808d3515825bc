"""Addresses of the shop. Those of django-payments are where Florin's webhooks and returning buyers arrive."""

from django.urls import include, path

from shop import views

urlpatterns = [
    path("", views.home, name="home"),
    path("buy/", views.buy, name="buy"),
    path("orders/<uuid:token>/", views.order, name="order"),
    path("orders/<uuid:token>/pay/", views.pay, name="pay"),
    path("orders/<uuid:token>/facts/", views.facts, name="facts"),
    path("payments/", include("payments.urls")),
]
