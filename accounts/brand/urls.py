"""Routes of branding, on every host that serves pages."""

from django.urls import re_path

from accounts.brand import views

_MERCHANT = r"(?P<merchant_id>mer_[0-9a-hjkmnp-tv-z]{26})"

urlpatterns = [
    re_path(rf"^brand/{_MERCHANT}/(?P<version>[0-9a-f]{{16}})\.css$", views.brand_stylesheet, name="brand-stylesheet"),
    re_path(rf"^brand/{_MERCHANT}/(?P<digest>[0-9a-f]{{32}})\.png$", views.brand_logo, name="brand-logo"),
]
