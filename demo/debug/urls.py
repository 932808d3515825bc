"""The toolbar's routes before those of the demo."""

from django.urls import include, path

urlpatterns = [path("__debug__/", include("debug_toolbar.urls")), path("", include("demo.front.urls"))]
