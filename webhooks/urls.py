"""Routes of events, webhook endpoints and deliveries, below /api/v1/."""

from gateway.core.api.views import ApiRouter
from webhooks.api import EventViewSet
from webhooks.deliveries.api import WebhookDeliveryViewSet
from webhooks.listed.api import WebhookEndpointViewSet

router = ApiRouter()
router.register("events", EventViewSet, basename="event")
router.register("webhook_endpoints", WebhookEndpointViewSet, basename="webhook_endpoint")
router.register("webhook_deliveries", WebhookDeliveryViewSet, basename="webhook_delivery")
urlpatterns = router.urls
