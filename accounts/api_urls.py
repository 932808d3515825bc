"""Routes of the accounts' API, below /api/v1/."""

from django.urls import path

from accounts.keys.api import KeyViewSet
from accounts.waitlist.api import WaitlistViewSet
from gateway.core.api.views import ApiRouter

router = ApiRouter()
router.register("waitlist", WaitlistViewSet, basename="waitlist")
urlpatterns = [*router.urls, path("key", KeyViewSet.as_view({"get": "retrieve"}), name="key")]
