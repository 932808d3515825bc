"""Routes of the x402 API, below /api/v1/."""

from django.urls import path

from facilitator.api import X402Config, X402Payments, X402Verify

urlpatterns = [
    path("x402/config", X402Config.as_view()),
    path("x402/payments", X402Payments.as_view()),
    path("x402/verify", X402Verify.as_view()),
]
