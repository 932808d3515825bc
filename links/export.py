"""The merchant's export of payment links and subscribers."""

from collections.abc import Iterator
from typing import Final

from accounts.models import Merchant
from gateway.core.exports import ExportTable, table_of
from links.models import LinkTemplate, PaymentLink, Subscription

_LINK: Final = (
    "public_id mode type status title description amount currency interval metadata escrow created_at updated_at"
)
_TEMPLATE: Final = "public_id mode title type amount description metadata created_at"


def tables(merchant: Merchant) -> Iterator[ExportTable]:
    """Return this app's files."""
    yield table_of("payment_links", PaymentLink.objects.filter(merchant=merchant), _LINK)
    yield table_of("link_templates", LinkTemplate.objects.filter(merchant=merchant), _TEMPLATE)
    yield table_of(
        "subscriptions",
        Subscription.objects.filter(link__merchant=merchant),
        "public_id link__public_id email paid_until created_at",
    )
