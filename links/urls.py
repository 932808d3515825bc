"""Routes of the link API, below /api/v1/."""

from gateway.core.api.views import ApiRouter
from links.api import LinkViewSet, TemplateViewSet

router = ApiRouter()
router.register("links", LinkViewSet, basename="link")
router.register("link_templates", TemplateViewSet, basename="link_template")
urlpatterns = router.urls
