"""Routes of the checkout API, below /api/v1/."""

from django.urls import path

from checkouts.api import (
    CheckoutCancel,
    CheckoutCollection,
    CheckoutItem,
    CheckoutOptions,
    CheckoutRelease,
)

urlpatterns = [
    path("checkouts", CheckoutCollection.as_view()),
    path("checkouts/<str:checkout_id>", CheckoutItem.as_view()),
    path("checkouts/<str:checkout_id>/cancel", CheckoutCancel.as_view()),
    path("checkouts/<str:checkout_id>/options", CheckoutOptions.as_view()),
    path("checkouts/<str:checkout_id>/release", CheckoutRelease.as_view()),
]
