"""Route of the waitlist API, below /api/v1/."""

from accounts.waitlist.api import WaitlistViewSet
from gateway.core.api.views import ApiRouter

router = ApiRouter()
router.register("waitlist", WaitlistViewSet, basename="waitlist")
urlpatterns = router.urls
