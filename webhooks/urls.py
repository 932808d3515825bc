"""Routes of the event API, below /api/v1/."""

from gateway.core.api.views import ApiRouter
from webhooks.api import EventViewSet

router = ApiRouter()
router.register("events", EventViewSet, basename="event")
urlpatterns = router.urls
