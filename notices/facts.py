"""Facts that people are told of: which rows claim them, and what is said.

A fact has a name, which never changes: together with its kind and who is told, it is the key that keeps it from being told twice.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.db.models import Count, Max, Q, QuerySet
from django.urls import reverse
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from accounts.states import Mode
from checkouts.models import BuyerReport, Checkout, InboxItem, Payment
from checkouts.states import CheckoutException, CheckoutStatus, InboxReason, InboxStatus, RescueVerdict
from gateway.core.money import format_units, readable, readable_units
from gateway.core.texts import Lazy, Spoken
from gateway.status.models import Incident, IncidentKind
from mails.models import OutgoingMail
from notices.states import Kind
from payouts.models import Payout
from payouts.states import PayoutKind, PayoutStatus
from settlements.gas.balances import GAS_MAIL
from wallets.disruptions import Disruption, DisruptionKind, Reader, Told, tell
from wallets.models import ChainCursor
from wallets.networks import chain_title, decimals_of
from wallets.transfers.doubts import doubted_transfers, doubts
from webhooks.health import DISABLED_AFTER, PROBATION_AFTER, SWITCHED_OFF
from webhooks.models import LISTED, TROUBLED, Endpoint
from webhooks.states import NOTES

# Rows of a kind that one pass looks at, at most: the newest.
_MOST: Final = 2_000
_MOST_PAYMENTS: Final = 100
# A state that began before is not told: its keys may be forgotten by now.
_OLDEST_STATE: Final = timedelta(days=3)
# A network that is late for less is told to nobody.
_LATE_FOR: Final = timedelta(minutes=10)
_LISTED_ORDERS: Final = 10

LASTING: Final = LISTED | Q(is_default=True)
"""The endpoints that people are told of; URLs that single checkouts named are none."""

_PAID: Final = """
    SELECT paid.subject_id FROM unnest(%(merchants)s::bigint[], %(modes)s::text[]) AS taker (merchant_id, mode)
    CROSS JOIN LATERAL (
        SELECT subject_id, created_at FROM webhooks_event
        WHERE merchant_id = taker.merchant_id AND mode = taker.mode AND type = 'checkout.completed'
        ORDER BY sequence DESC LIMIT %(most)s
    ) AS paid
    WHERE paid.created_at >= %(since)s::timestamptz
"""
# A buyer's look-up that found money which no checkout has. Anybody can look up what is not there.
FOUND: Final[Mapping[RescueVerdict, Lazy]] = MappingProxyType(
    {
        RescueVerdict.WAITING: _("The money arrived and waits for you."),
        RescueVerdict.SHORT: _("It is less than the price."),
        RescueVerdict.LATE: _("It came after the checkout ended."),
        RescueVerdict.EXTRA: _("The checkout was paid already."),
        RescueVerdict.WRONG_NETWORK: _("It came on a network that was not offered."),
        RescueVerdict.WRONG_TOKEN: _("It is in a token that was not offered."),
    }
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a merchant and mode, in words: a title of a few, a text of a sentence or two, said in the language of each reader.

    `name` identifies it within its kind, in 60 characters at most. `route` is the dashboard's page for it. Owners already get a
    mail of their own if `owners_are_mailed`. Without a merchant it is the operators'.
    """

    kind: Kind
    merchant_id: int | None
    mode: Mode
    name: str
    title: Spoken
    text: Spoken
    route: str = "dashboard_overview"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    owners_are_mailed: bool = False

    @property
    def key(self) -> str:
        """Return what identifies the fact among all."""
        return f"{self.mode}:{self.kind}:{self.name}"

    def url(self, mer_id: str) -> str:
        """Return the address of its page at a merchant."""
        path = reverse(self.route, kwargs={"mer_id": mer_id, "mode": str(self.mode), **self.arguments})
        return f"{settings.BASE_URL}{path}"


Takers = Collection[tuple[int, str]]
"""Merchants and modes."""


def recent(kind: Kind, *, since: datetime, now: datetime, takers: Takers) -> list[Fact]:
    """Return the facts since a time; of states, those that hold now. Of payments, only those of the takers."""
    return _RECENT[kind](since, now, takers)


def named(kind: Kind, name: str, *, merchant_id: int, mode: Mode, now: datetime) -> Fact | None:
    """Return a fact as it is now; None if it holds no more, or is another merchant's or the other mode's."""
    key, _, rest = name.partition(":")
    found = _NAMED[kind](key, rest, now)
    return next((one for one in found if (one.merchant_id, one.mode, one.name) == (merchant_id, mode, name)), None)


def _payments_since(since: datetime, _now: datetime, takers: Takers) -> list[Fact]:
    columns: dict[str, Any] = {"merchants": [merchant for merchant, _ in takers], "modes": [mode for _, mode in takers]}
    with connection.cursor() as cursor:
        cursor.execute(_PAID, columns | {"most": _MOST_PAYMENTS, "since": since})
        keys = [key for (key,) in cursor]
    return _payments(Checkout.objects.filter(public_id__in=keys))


def _payments(rows: QuerySet[Checkout]) -> list[Fact]:
    """Return the payments that stand: a network may have taken one back since."""
    standing = rows.filter(status=CheckoutStatus.COMPLETED).exclude(exception=CheckoutException.REVERSED)
    return [
        Fact(
            Kind.PAYMENT,
            one.merchant_id,
            Mode(one.mode),
            one.public_id,
            title=format_lazy(_("{amount} USD received"), amount=readable(one.amount_received)),
            text=format_lazy(_("{checkout} of {price} is paid."), checkout=_called(one), price=one.asked),
            route="dashboard_checkout",
            arguments={"checkout_id": one.public_id},
        )
        for one in standing.order_by("paid_at", "pk")
    ]


def _called(checkout: Checkout) -> Lazy:
    if checkout.order_ref:
        return format_lazy(_("Order {order}"), order=checkout.order_ref)
    return format_lazy(_("Checkout {checkout}"), checkout=checkout.public_id)


def _inbox_since(since: datetime, _now: datetime, _takers: Takers) -> list[Fact]:
    return _inbox(_newest(InboxItem.objects.all()).filter(created_at__gte=since))


def _inbox(rows: QuerySet[InboxItem]) -> list[Fact]:
    """Return open items, but for dust: anybody can send that to everybody."""
    items = rows.filter(status=InboxStatus.OPEN).exclude(reason=InboxReason.DUST)
    return [_item(one) for one in items.select_related("transfer").order_by("pk")]


def _item(item: InboxItem) -> Fact:
    transfer = item.transfer
    amount = f"{readable_units(transfer.units, transfer.decimals)} {transfer.token}"
    chain = chain_title(transfer.chain)
    title, text = _("{amount} waits for your decision"), _("It arrived on {chain}, and is in the inbox.")
    is_reversed = item.reason == InboxReason.REVERSED
    if is_reversed:
        title, text = _("{chain} took {amount} back"), _("It had paid a checkout. Hold the goods if you still can.")
    return Fact(
        Kind.INBOX,
        item.merchant_id,
        Mode(item.mode),
        str(item.pk),
        format_lazy(title, amount=amount, chain=chain),
        format_lazy(text, amount=amount, chain=chain),
        route="dashboard_inbox_item",
        arguments={"item_id": item.pk},
        owners_are_mailed=is_reversed,
    )


def _reports_since(since: datetime, _now: datetime, _takers: Takers) -> list[Fact]:
    return _reports(_newest(BuyerReport.objects.all()).filter(looked_at__gte=since))


def _reports(rows: QuerySet[BuyerReport]) -> list[Fact]:
    found = rows.filter(closed_at=None, verdict__in=list(FOUND)).select_related("checkout").order_by("pk")
    return [
        Fact(
            Kind.REPORT,
            one.merchant_id,
            Mode(one.mode),
            str(one.pk),
            title=_("A buyer looked up a payment"),
            text=format_lazy("{}: {}", _called(one.checkout), FOUND[RescueVerdict(one.verdict)]),
            route="dashboard_buyer_reports",
        )
        for one in found
    ]


def _newest(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the rows with the newest keys: a search by time alone would read the whole table."""
    last = rows.aggregate(last=Max("pk"))["last"] or 0
    return rows.filter(pk__gt=last - _MOST)


def _refunds_since(since: datetime, _now: datetime, _takers: Takers) -> list[Fact]:
    return _refunds(Payout.objects.filter(addressed_at__gte=since))


def _refunds(rows: QuerySet[Payout]) -> list[Fact]:
    return [
        Fact(
            Kind.REFUND,
            one.merchant_id,
            Mode(one.mode),
            f"{one.public_id}:{one.revision}",
            title=_("A refund waits for approval")
            if one.kind == PayoutKind.REFUND
            else _("A payout waits for approval"),
            text=format_lazy(
                _("{amount} {token} on {chain}."),
                amount=format_units(int(one.units), decimals_of(one.chain, one.token)),
                token=one.token,
                chain=chain_title(one.chain),
            ),
            route="dashboard_payout",
            arguments={"payout_id": one.public_id},
        )
        for one in rows.filter(status=PayoutStatus.REQUESTED).order_by("pk")
    ]


def _endpoints_now(_since: datetime, now: datetime, _takers: Takers) -> list[Fact]:
    return _endpoints(Endpoint.objects.filter(TROUBLED), now)


def _endpoints(rows: QuerySet[Endpoint], now: datetime) -> list[Fact]:
    """Return endpoints on probation, and those that were disabled for their failures; not URLs that single checkouts named."""
    failing = rows.filter(LASTING, failing_since__gte=now - _OLDEST_STATE - DISABLED_AFTER)
    facts = []
    for one in failing.exclude(mode=NOTES).order_by("pk"):
        if one.disabled_at is None and one.consecutive_failures >= PROBATION_AFTER:
            what, kind = "failing", DisruptionKind.ENDPOINT_FAILING
        elif one.disabled_at and one.disabled_at > now - _OLDEST_STATE and one.disabled_reason in SWITCHED_OFF:
            what, kind = "off", DisruptionKind.ENDPOINT_OFF
        else:
            continue
        disruption = Disruption(kind, affected=1)
        facts.append(
            Fact(
                Kind.ENDPOINT,
                one.merchant_id,
                Mode(one.mode),
                f"{one.pk}:{what}:{one.failing_since:%y%m%d%H%M%S}",
                title=_heading(disruption),
                text=format_lazy("{}: {}", _host(one.url), _meaning(disruption)),
                route="dashboard_webhooks",
            )
        )
    return facts


def _merchants(disruption: Disruption) -> Told:
    return tell(disruption, Reader.MERCHANT)


def _heading_words(disruption: Disruption) -> str:
    return _merchants(disruption).heading.rstrip(".。।")


def _meaning_words(disruption: Disruption) -> str:
    words = _merchants(disruption)
    return f"{words.meaning} {words.doing}"


_heading, _meaning = lazy(_heading_words, str), lazy(_meaning_words, str)


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2]


def _chains_now(_since: datetime, now: datetime, _takers: Takers) -> list[Fact]:
    return _chains(Incident.objects.all(), now)


def _chains(rows: QuerySet[Incident], now: datetime) -> list[Fact]:
    """Return, for each merchant, the networks in trouble on which orders of theirs depend. Real money only."""
    since = now - _OLDEST_STATE
    # A network may be stopped long after it became late.
    stopped = ChainCursor.objects.filter(halted_at__gte=since).exclude(halted_reason="")
    lately = Q(began_at__gte=since) | Q(halted=True, chain__in=stopped.values("chain"))
    open_ones = rows.filter(lately, kind=IncidentKind.CHAIN, ended_at=None)
    facts: list[Fact] = []
    for incident in open_ones.order_by("pk"):
        halted = list(_halted(incident)) if incident.halted else []
        facts += halted
        if incident.halted or incident.stopped or now - incident.began_at >= _LATE_FOR:
            facts += _late(incident, told={one.merchant_id for one in halted})
    return facts


def _halted(incident: Incident) -> Iterable[Fact]:
    title = chain_title(incident.chain)
    for doubt in doubts(chain=incident.chain):
        payments = ngettext_lazy("{count} payment", "{count} payments", doubt.payments)
        yield Fact(
            Kind.CHAIN,
            doubt.merchant_id,
            Mode.LIVE,
            f"{incident.pk}:halted",
            title=format_lazy(_("Hold orders paid on {chain}"), chain=title),
            text=format_lazy(
                _(
                    "{chain} contradicts what we read, so we stopped reading it. In doubt since {since:%H:%M} UTC: {payments}. {orders}"
                ),
                chain=title,
                since=doubt.since,
                payments=format_lazy(payments, count=doubt.payments),
                orders=_orders_in_doubt(incident.chain, doubt.merchant_id),
            ),
            route="dashboard_overview",
            owners_are_mailed=True,
        )


def _orders_in_doubt(chain: str, merchant_id: int) -> Spoken:
    transfers = doubted_transfers(chain, merchant_id=merchant_id)
    paid = Payment.objects.filter(transfer__in=transfers).select_related("checkout").order_by("pk")
    checkouts = {one.checkout.order_ref or one.checkout.public_id: one.checkout for one in paid[: _LISTED_ORDERS + 1]}
    orders = list(map(_called, checkouts.values()))
    listed = format_lazy(", ".join(["{}"] * len(orders[:_LISTED_ORDERS])) + ".", *orders[:_LISTED_ORDERS])
    more = _("{orders} And more.") if len(orders) > _LISTED_ORDERS else "{orders}"
    return format_lazy(more, orders=listed) if orders else ""


def _late(incident: Incident, *, told: Collection[int | None]) -> Iterable[Fact]:
    stopped = DisruptionKind.DOWN if incident.stopped else DisruptionKind.DELAYED
    kind = DisruptionKind.HALTED if incident.halted else stopped
    disruption = Disruption(kind, incident.chain)
    offered = Checkout.objects.live().filter(mode=Mode.LIVE, offers__has_key=incident.chain)
    counts: dict[int, int] = defaultdict(int)
    counts |= dict(offered.order_by().values_list("merchant").annotate(open=Count("pk")))
    for merchant_id, count in sorted(counts.items()):
        if merchant_id not in told:
            yield Fact(
                Kind.CHAIN,
                merchant_id,
                Mode.LIVE,
                f"{incident.pk}:late",
                title=_heading(disruption),
                text=format_lazy(
                    _("Open checkouts that offer it: {count}. It began at {began_at:%H:%M} UTC. {meaning}"),
                    count=count,
                    began_at=incident.began_at,
                    meaning=_meaning(disruption),
                ),
                route="dashboard_overview",
            )


def _gas_since(since: datetime, _now: datetime, _takers: Takers) -> list[Fact]:
    """Return the warnings that operators were mailed, each once: settlements write them for every chain with gas accounts."""
    mails = OutgoingMail.objects.filter(key__startswith=GAS_MAIL, created_at__gte=since).order_by("pk")
    # A key ends with the operator; what is before it is the warning's.
    warnings = {mail.key.removeprefix(GAS_MAIL).rpartition(":")[0]: mail for mail in mails}
    return [
        Fact(Kind.GAS, None, Mode.LIVE, name, title=mail.subject, text=mail.text.partition("\n\n")[0])
        for name, mail in warnings.items()
    ]


_RECENT: Final[Mapping[Kind, Callable[[datetime, datetime, Takers], list[Fact]]]] = MappingProxyType(
    {
        Kind.PAYMENT: _payments_since,
        Kind.INBOX: _inbox_since,
        Kind.REPORT: _reports_since,
        Kind.REFUND: _refunds_since,
        Kind.ENDPOINT: _endpoints_now,
        Kind.CHAIN: _chains_now,
        Kind.GAS: _gas_since,
    }
)
_NAMED: Final[Mapping[Kind, Callable[[str, str, datetime], list[Fact]]]] = MappingProxyType(
    {
        Kind.PAYMENT: lambda key, _rest, _now: _payments(Checkout.objects.filter(public_id=key)),
        Kind.INBOX: lambda key, _rest, _now: _inbox(InboxItem.objects.filter(pk=key)),
        Kind.REPORT: lambda key, _rest, _now: _reports(BuyerReport.objects.filter(pk=key)),
        Kind.REFUND: lambda key, _rest, _now: _refunds(Payout.objects.filter(public_id=key)),
        Kind.ENDPOINT: lambda key, _rest, now: _endpoints(Endpoint.objects.filter(pk=key), now),
        Kind.CHAIN: lambda key, _rest, now: _chains(Incident.objects.filter(pk=key), now),
        Kind.GAS: lambda _key, _rest, _now: [],
    }
)
