"""Routes of the checkout API, below /api/v1/."""

from checkouts.api import CheckoutViewSet
from gateway.core.api.views import ApiRouter

router = ApiRouter()
router.register("checkouts", CheckoutViewSet, basename="checkout")
urlpatterns = router.urls
