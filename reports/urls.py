"""Routes of the report API, below /api/v1/."""

from gateway.core.api.views import ApiRouter
from reports.api import ReportViewSet, TransactionViewSet

router = ApiRouter()
router.register("reports", ReportViewSet, basename="report")
router.register("transactions", TransactionViewSet, basename="transaction")
urlpatterns = router.urls
