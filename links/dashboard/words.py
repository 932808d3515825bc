"""Labels of link types, statuses and amounts on the merchant's pages."""

from types import MappingProxyType
from typing import Final, NamedTuple

from django.utils.translation import gettext, gettext_noop

from checkouts.dashboard.words import IN_DOUBT
from gateway.core.currencies import USD, readable_price
from gateway.core.money import readable
from gateway.core.web.badges import Badge
from links.models import LinkTemplate, PaymentLink
from links.selectors import LastPayment
from links.states import Interval, LinkStatus, LinkType, Standing

# Tabs by the word in their address. Archived links are shown only in their tab.
ALL: Final = "all"
TABS: Final = (
    ("", gettext_noop("Active")),
    (LinkStatus.PAUSED, gettext_noop("Paused")),
    (LinkStatus.ARCHIVED, gettext_noop("Archived")),
    (ALL, gettext_noop("All")),
)
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
_INTERVALS: Final = MappingProxyType(
    {
        Interval.WEEK: gettext_noop("a week"),
        Interval.MONTH: gettext_noop("a month"),
        Interval.YEAR: gettext_noop("a year"),
    }
)


class ShownLinkType(NamedTuple):
    """A link type for people: name and purpose in English, and a symbol of images/dashboard-icons.svg."""

    type: LinkType
    name: str
    purpose: str
    icon: str

    @property
    def label(self) -> str:
        """Return the name in the current language."""
        return gettext(self.name)

    @property
    def words(self) -> str:
        """Return the purpose in the current language."""
        return gettext(self.purpose)


KINDS: Final = MappingProxyType(
    {
        LinkType.CUSTOM: ShownLinkType(
            LinkType.CUSTOM,
            gettext_noop("Fixed price"),
            gettext_noop("One price. Anyone can pay it, any number of times."),
            "card",
        ),
        LinkType.INVOICE: ShownLinkType(
            LinkType.INVOICE,
            gettext_noop("Invoice"),
            gettext_noop("One price, paid once. The page then says that it is paid."),
            "log",
        ),
        LinkType.DONATION: ShownLinkType(
            LinkType.DONATION,
            gettext_noop("Donation"),
            gettext_noop("The payer chooses the amount, within limits if you set some."),
            "heart",
        ),
        LinkType.SUBSCRIPTION: ShownLinkType(
            LinkType.SUBSCRIPTION,
            gettext_noop("Subscription"),
            gettext_noop(
                "One price a week, month or year. Nothing is charged automatically: the payer pays each period."
            ),
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
    return gettext(_INTERVALS[Interval(link.interval)]) if link.interval else ""


def range_of(link: PaymentLink) -> str:
    """Return the limits of a payer's choice; empty if there are none."""
    low, high = ("" if amount is None else readable(amount) for amount in (link.min_amount, link.max_amount))
    if low and high:
        return gettext("%(low)s to %(high)s") % {"low": low, "high": high}
    return gettext("from %(low)s") % {"low": low} if low else gettext("up to %(high)s") % {"high": high} if high else ""
