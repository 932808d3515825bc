"""Routes of the wallets API, below /api/v1/."""

from gateway.core.api.views import ApiRouter
from wallets.api import ChainViewSet
from wallets.watched.api import WatchedWalletViewSet

router = ApiRouter()
router.register("chains", ChainViewSet, basename="chain")
router.register("wallets", WatchedWalletViewSet, basename="wallet")
urlpatterns = router.urls
