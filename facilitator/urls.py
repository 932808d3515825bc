"""Routes of the x402 API, below /api/v1/."""

from django.urls import path

from facilitator.api import X402Config, X402Payments, X402Settle, X402Verify
from facilitator.standard.api import X402Supported

urlpatterns = [
    path("x402/config", X402Config.as_view()),
    path("x402/payments", X402Payments.as_view()),
    path("x402/settle", X402Settle.as_view()),
    path("x402/supported", X402Supported.as_view()),
    path("x402/verify", X402Verify.as_view()),
]
