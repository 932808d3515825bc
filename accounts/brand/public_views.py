"""The public style sheet and logo of a merchant's pages. Their addresses change with them, so browsers cache both for ever."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from accounts.brand.styles import stylesheet, stylesheet_version
from accounts.models import Branding
from gateway.core.api import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.web.compact import compact_page
from gateway.core.web.pages import count_visit, uncached

# Per client and merchant: each buyer's browser asks once, and many may share an address.
BRAND = Limit("brand", 600)
# Opened directly, neither may load anything.
_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "Content-Security-Policy": "default-src 'none'"}


@compact_page
@require_safe
def brand_stylesheet(request: HttpRequest, merchant_id: str, version: str) -> HttpResponse:
    """Answer the style sheet of the merchant's pages. Raises Http404 for any version but the current one."""
    if refusal := _refusal(request, merchant_id):
        return refusal
    of_merchant = Branding.objects.filter(merchant__public_id=merchant_id)
    accent = of_merchant.values_list("accent", flat=True).first()
    if accent is None or stylesheet_version(accent) != version:
        raise Http404
    return HttpResponse(stylesheet(accent), content_type="text/css", headers=_HEADERS)


@require_safe
def brand_logo(request: HttpRequest, merchant_id: str, digest: str) -> HttpResponse:
    """Answer the merchant's logo. Raises Http404 for any digest but the current one."""
    if refusal := _refusal(request, merchant_id):
        return refusal
    of_merchant = Branding.objects.filter(merchant__public_id=merchant_id)
    present = of_merchant.filter(logo_digest=digest)
    logo = present.values_list("logo", flat=True).first()
    if not logo:
        raise Http404
    return HttpResponse(bytes(logo), content_type="image/png", headers=_HEADERS)


def _refusal(request: HttpRequest, merchant_id: str) -> HttpResponse | None:
    try:
        count_visit(request, BRAND, merchant_id)
    except errors.RateLimitError as error:
        return uncached(HttpResponse(status=429), error.headers())
    return None
