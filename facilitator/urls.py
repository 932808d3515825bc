"""Routes of the x402 API, below /api/v1/."""

from facilitator.api import X402ViewSet
from gateway.core.api import ApiRouter

router = ApiRouter()
router.register("x402", X402ViewSet, basename="x402")
urlpatterns = router.urls
