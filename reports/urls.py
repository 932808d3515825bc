"""Routes of the report API, below /api/v1/."""

from gateway.core.api.views import ApiRouter
from reports.api import ReportViewSet

router = ApiRouter()
router.register("reports", ReportViewSet, basename="report")
urlpatterns = router.urls
