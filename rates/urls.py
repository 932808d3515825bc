"""Routes of the rates API, below /api/v1/."""

from gateway.core.api.views import ApiRouter
from rates.api import CurrencyViewSet

router = ApiRouter()
router.register("currencies", CurrencyViewSet, basename="currency")
urlpatterns = router.urls
