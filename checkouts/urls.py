"""Routes of the checkout API, below /api/v1/."""

from checkouts.api import CheckoutViewSet, TestClockViewSet
from checkouts.inbox.api import InboxViewSet
from checkouts.till.api import TerminalViewSet
from gateway.core.api.views import ApiRouter

router = ApiRouter()
router.register("checkouts", CheckoutViewSet, basename="checkout")
router.register("test/checkouts", TestClockViewSet, basename="test-clock")
router.register("inbox", InboxViewSet, basename="inbox_item")
router.register("terminals", TerminalViewSet, basename="terminal")
urlpatterns = router.urls
