"""Route of the waitlist API, below /api/v1/."""

from gateway.core.api import ApiRouter
from waitlist.api import WaitlistViewSet

router = ApiRouter()
router.register("waitlist", WaitlistViewSet, basename="waitlist")
urlpatterns = router.urls
