"""Routes of events and webhook endpoints, below /api/v1/."""

from gateway.core.api.views import ApiRouter
from webhooks.api import EventViewSet
from webhooks.listed.api import WebhookEndpointViewSet

router = ApiRouter()
router.register("events", EventViewSet, basename="event")
router.register("webhook_endpoints", WebhookEndpointViewSet, basename="webhook_endpoint")
urlpatterns = router.urls
