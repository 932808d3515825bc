"""The webhook routes alone, where the product puts them."""

from django.urls import include, path

urlpatterns = [path("api/v1/", include("webhooks.urls"))]
