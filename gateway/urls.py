"""Every route of the product."""

from django.urls import re_path

from gateway.core.api import RouteMissing

urlpatterns = [
    re_path(r"^api/", RouteMissing.as_view()),
]
