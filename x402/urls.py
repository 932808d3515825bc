"""Routes of the x402 API, below /api/v1/."""

from gateway.core.api.views import ApiRouter
from x402.api import X402ViewSet

router = ApiRouter()
router.register("x402", X402ViewSet, basename="x402")
urlpatterns = router.urls
