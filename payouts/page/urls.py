"""Routes of the claim page, and of what wallets ask about us, at the root of the checkout host."""

from django.urls import path, re_path

from payouts.page import views

urlpatterns = [
    # Codes are Crockford base 32 (`payouts.lifecycle.claims`). Other paths need no database query.
    re_path(r"^r/(?P<code>[0-9a-hjkmnp-tv-z]{20})$", views.claim_page, name="claim"),
    path("tonconnect-manifest.json", views.wallet_manifest, name="wallet_manifest"),
]
