"""Labels of link types, statuses and amounts on the merchant's pages."""

from types import MappingProxyType
from typing import Final, NamedTuple

from checkouts.dashboard.words import IN_DOUBT
from gateway.core.currencies import USD, readable_price
from gateway.core.money import readable
from gateway.core.web.badges import Badge
from links.models import LinkTemplate, PaymentLink
from links.selectors import LastPayment
from links.states import Interval, LinkStatus, LinkType, Standing

# Tabs by the word in their address. Archived links are shown only in their tab.
ALL: Final = "all"
TABS: Final = (("", "Active"), (LinkStatus.PAUSED, "Paused"), (LinkStatus.ARCHIVED, "Archived"), (ALL, "All"))
_STATUSES: Final = MappingProxyType(
    {
        LinkStatus.ACTIVE: Badge("Active", "ok"),
        LinkStatus.PAUSED: Badge("Paused", "warn"),
        LinkStatus.ARCHIVED: Badge("Archived", ""),
    }
)
STANDINGS: Final = MappingProxyType(
    {Standing.PAID: Badge("Paid", "ok"), Standing.DOUBTED: IN_DOUBT, Standing.REVERSED: Badge("Reversed", "bad")}
)
_INTERVALS: Final = MappingProxyType({Interval.WEEK: "a week", Interval.MONTH: "a month", Interval.YEAR: "a year"})


class Kind(NamedTuple):
    """A link type for people: name, purpose, and a symbol of images/dashboard-icons.svg."""

    type: LinkType
    label: str
    words: str
    icon: str


KINDS: Final = MappingProxyType(
    {
        LinkType.CUSTOM: Kind(
            LinkType.CUSTOM, "Fixed price", "One price. Anyone can pay it, any number of times.", "card"
        ),
        LinkType.INVOICE: Kind(
            LinkType.INVOICE, "Invoice", "One price, paid once. The page then says that it is paid.", "log"
        ),
        LinkType.DONATION: Kind(
            LinkType.DONATION, "Donation", "The payer chooses the amount, within limits if you set some.", "heart"
        ),
        LinkType.SUBSCRIPTION: Kind(
            LinkType.SUBSCRIPTION,
            "Subscription",
            "One price a week, month or year. Nothing is charged automatically: the payer pays each period.",
            "repeat",
        ),
    }
)


def link_badge(link: PaymentLink, payment: LastPayment | None) -> Badge:
    """Return the badge of a link's status: an invoice is closed by its `payment`, whatever its status."""
    if payment is not None and link.status != LinkStatus.ARCHIVED:
        return STANDINGS[payment.standing]
    return _STATUSES[LinkStatus(link.status)]


def kind_label(link: PaymentLink) -> str:
    """Return the name of a link's type."""
    return KINDS[LinkType(link.type)].label


def price_of(source: PaymentLink | LinkTemplate) -> str:
    """Return the price, with its currency unless that is USD; empty if the payer chooses."""
    if source.type == LinkType.DONATION or source.amount is None:
        return ""
    if isinstance(source, LinkTemplate) or source.currency == USD:
        return readable(source.amount)
    return f"{readable_price(source.amount, source.currency)} {source.currency}"


def interval_of(link: PaymentLink) -> str:
    """Return the interval of a subscription; empty for other links."""
    return _INTERVALS[Interval(link.interval)] if link.interval else ""


def range_of(link: PaymentLink) -> str:
    """Return the limits of a payer's choice; empty if there are none."""
    low, high = ("" if amount is None else readable(amount) for amount in (link.min_amount, link.max_amount))
    if low and high:
        return f"{low} to {high}"
    return f"from {low}" if low else f"up to {high}" if high else ""
