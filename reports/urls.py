"""Routes of the report API, below /api/v1/."""

from gateway.core.api.views import ApiRouter
from reports.api import DisruptionViewSet, ReportViewSet, TransactionViewSet

router = ApiRouter()
router.register("reports", ReportViewSet, basename="report")
router.register("transactions", TransactionViewSet, basename="transaction")
router.register("disruptions", DisruptionViewSet, basename="disruption")
urlpatterns = router.urls
