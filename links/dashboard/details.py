"""The data of a link's page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from checkouts.dashboard.checkout_list import ListedCheckout, listed
from checkouts.models import Checkout
from gateway.core.money import readable
from gateway.core.pretty_json import indented
from gateway.core.web.language_tags import utc
from links.dashboard.words import KINDS, Kind, interval_of, link_badge, price_of, range_of
from links.models import LinkCheckout, PaymentLink
from links.page.build import LinkStage, stage_of
from links.payloads import NOTHING, link_url, share_text
from links.selectors import invoice_payments, takings_of
from links.states import LinkType
from webhooks.dashboard.words import Badge

LATEST: Final = 10


@dataclass(frozen=True, slots=True)
class Detail:
    """A link for its merchant. Amounts are formatted for people."""

    link: PaymentLink
    kind: Kind
    badge: Badge
    stage: LinkStage
    price: str
    interval: str
    limits: str
    url: str
    share_text: str
    count: int
    collected: str
    facts: tuple[tuple[str, str], ...]
    metadata: str
    checkouts: Sequence[ListedCheckout]

    @property
    def is_cut(self) -> bool:
        """Whether there may be more checkouts than are shown."""
        return len(self.checkouts) == LATEST


def detail_of(link: PaymentLink) -> Detail:
    """Return the data of a link's page; its merchant and template are loaded."""
    takings = takings_of([link]).get(link.pk, NOTHING)
    payment = invoice_payments([link]).get(link.pk)
    return Detail(
        link=link,
        kind=KINDS[LinkType(link.type)],
        badge=link_badge(link, payment),
        stage=stage_of(link, payment),
        price=price_of(link),
        interval=interval_of(link),
        limits=range_of(link),
        url=link_url(link.code),
        share_text=share_text(link),
        count=takings.count,
        collected=readable(takings.amount),
        facts=_facts(link),
        metadata="" if link.metadata == "{}" else indented(link.metadata),
        checkouts=_latest(link),
    )


def _latest(link: PaymentLink) -> list[ListedCheckout]:
    keys = LinkCheckout.objects.filter(link=link).order_by("-pk")
    made = Checkout.objects.filter(pk__in=list(keys.values_list("checkout", flat=True)[:LATEST]))
    # Each row's description is the link's title, which the page shows already.
    return [replace(row, subtitle="") for row in listed(made.order_by("-pk"))]


def _facts(link: PaymentLink) -> tuple[tuple[str, str], ...]:
    is_donation = link.type == LinkType.DONATION
    begins_with = readable(link.amount) if is_donation and link.amount else ""
    suggested = ", ".join(readable(Decimal(text)) for text in link.suggested_amounts)
    named = (
        ("Payer may give", range_of(link)),
        ("Suggested", suggested),
        ("Default amount", begins_with),
        ("customer_ref", link.customer_ref),
        ("product_ref", link.product_ref),
        ("Returns to", link.redirect_url),
        ("Webhooks to", link.webhook_url),
        ("Escrow", "Held until you release it" if link.escrow else ""),
        ("Template", link.template.title if link.template else ""),
        ("Created", utc(link.created_at)),
        ("Changed", utc(link.updated_at)),
    )
    return tuple((name, value) for name, value in named if value)
