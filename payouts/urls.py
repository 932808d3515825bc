"""Routes of refunds and payouts, below /api/v1/."""

from gateway.core.api.views import ApiRouter
from payouts.api import PayoutViewSet, RefundViewSet

router = ApiRouter()
router.register("refunds", RefundViewSet, basename="refund")
router.register("payouts", PayoutViewSet, basename="payout")
urlpatterns = router.urls
