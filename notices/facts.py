"""Facts that people are told of: which rows claim them, and what is said.

A fact has a name, which never changes: together with its kind and who is told, it is the key that keeps it from being told twice.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.db.models import Count, F, Max, Q, QuerySet, Window
from django.db.models.functions import RowNumber
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
from payouts.following.alarms import ALARM_MAIL, ALARMS, Alarm, subject_of
from payouts.models import Payout
from payouts.states import PayoutException, PayoutKind, PayoutStatus
from settlements.gas.balances import GAS_MAIL
from wallets.disruptions import Disruption, DisruptionKind, Reader, Told, tell
from wallets.models import ChainCursor, WatchedMovement
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
# The outflow, what happened, its block, the owner.
_ALARM_PARTS: Final = 4
_BLOCK_DIGITS: Final = 12

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

    `name` identifies it within its kind, in 60 characters at most. `route` is the dashboard's page for it, `query` what follows. Owners already get a
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
    query: str = ""
    owners_are_mailed: bool = False

    @property
    def key(self) -> str:
        """Return what identifies the fact among all."""
        return f"{self.mode}:{self.kind}:{self.name}"

    def url(self, mer_id: str) -> str:
        """Return the address of its page at a merchant."""
        path = reverse(self.route, kwargs={"mer_id": mer_id, "mode": str(self.mode), **self.arguments})
        return f"{settings.BASE_URL}{path}{f'?{self.query}' if self.query else ''}"


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


def _payouts_since(since: datetime, _now: datetime, _takers: Takers) -> list[Fact]:
    mails = OutgoingMail.objects.filter(key__startswith=ALARM_MAIL, created_at__gte=since)
    return [*_payouts_paid(Payout.objects.filter(paid_at__gte=since)), *_payouts_wrong(mails)]


def _payouts_paid(rows: QuerySet[Payout]) -> list[Fact]:
    """Return the payouts that the chain paid, without those that it took back since."""
    standing = rows.filter(status=PayoutStatus.PAID, imported_tx="").exclude(exception=PayoutException.REVERSED)
    return [_paid_out(one) for one in standing.select_related("movement").order_by("paid_at", "pk")]


def _paid_out(payout: Payout) -> Fact:
    # A person may have accepted another amount.
    units = payout.units if payout.movement is None else payout.movement.units
    amount = f"{format_units(int(units), decimals_of(payout.chain, payout.token))} {payout.token}"
    return Fact(
        Kind.PAYOUT,
        payout.merchant_id,
        Mode(payout.mode),
        payout.public_id,
        title=format_lazy(
            _("A refund is paid: {amount}") if payout.kind == PayoutKind.REFUND else _("A payout is paid: {amount}"),
            amount=amount,
        ),
        text=format_lazy(_("It left your wallet on {chain}, and is final."), chain=chain_title(payout.chain)),
        route="dashboard_payout",
        arguments={"payout_id": payout.public_id},
    )


def _payouts_wrong(mails: QuerySet[OutgoingMail]) -> list[Fact]:
    """Return the outflows that owners were mailed about, each once: sent twice, with another amount, or reversed."""
    # Their subjects are in the languages of the owners. Each owner has one mail.
    told: dict[tuple[str, str, str], None] = {}
    for key in mails.order_by("pk").values_list("key", flat=True):
        parts = key.removeprefix(ALARM_MAIL).split(":")
        if len(parts) == _ALARM_PARTS and parts[1] in ALARMS:
            told[parts[0], parts[1], parts[2]] = None
    movements = WatchedMovement.objects.in_bulk({outflow for outflow, _what, _block in told}, field_name="public_id")
    return [_wrong(movements[outflow], ALARMS[what], block) for outflow, what, block in told if outflow in movements]


def _wrong(movement: WatchedMovement, alarm: Alarm, block: str) -> Fact:
    payout = Payout.objects.filter(Q(movement=movement) | Q(surplus__movement=movement)).first()
    return Fact(
        Kind.PAYOUT,
        movement.merchant_id,
        Mode(movement.mode),
        f"{movement.public_id}:{alarm.name}:{block[-_BLOCK_DIGITS:]}",
        title=subject_of(alarm, movement, payout.kind if payout else _kind_sent_to(movement)),
        text=alarm.note,
        route="dashboard_payout" if payout else "dashboard_payouts",
        arguments={"payout_id": payout.public_id} if payout else {},
        owners_are_mailed=True,
    )


def _kind_sent_to(movement: WatchedMovement) -> str:
    """Return of which kind the payouts to an outflow's address are; "" if of both, or if there is none."""
    sent = Payout.objects.of(movement.merchant_id, movement.mode).filter(
        chain=movement.chain, token=movement.token, address=movement.counterparty
    )
    kinds = set(sent.values_list("kind", flat=True))
    return kinds.pop() if len(kinds) == 1 else ""


def _payout_named(key: str, _rest: str, _now: datetime) -> list[Fact]:
    """Return the facts of a payout, or of an outflow."""
    mails = OutgoingMail.objects.filter(key__startswith=f"{ALARM_MAIL}{key}:")
    return [*_payouts_paid(Payout.objects.filter(public_id=key)), *_payouts_wrong(mails)]


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
    return [*_chains(Incident.objects.all(), now), *_disagreeing(now)]


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
            route="dashboard_checkouts",
            query=f"doubt={incident.chain}",
            owners_are_mailed=True,
        )


def _orders_in_doubt(chain: str, merchant_id: int) -> Spoken:
    transfers = doubted_transfers(chain, merchant_id=merchant_id)
    paid = Payment.objects.filter(transfer__in=transfers).select_related("checkout").order_by("pk")
    checkouts = {one.checkout.order_ref or one.checkout.public_id: one.checkout for one in paid[: _LISTED_ORDERS + 1]}
    return _enumerated(list(map(_called, checkouts.values())))


def _enumerated(orders: Sequence[Lazy]) -> Spoken:
    listed = format_lazy(", ".join(["{}"] * len(orders[:_LISTED_ORDERS])) + ".", *orders[:_LISTED_ORDERS])
    more = _("{orders} And more.") if len(orders) > _LISTED_ORDERS else "{orders}"
    return format_lazy(more, orders=listed) if orders else ""


def _late(incident: Incident, *, told: Collection[int | None]) -> Iterable[Fact]:
    stopped = DisruptionKind.DOWN if incident.stopped else DisruptionKind.DELAYED
    kind = DisruptionKind.HALTED if incident.halted else stopped
    return _to_those_who_offer(
        Disruption(kind, incident.chain), f"{incident.pk}:late", began_at=incident.began_at, told=told
    )


def _disagreeing(now: datetime) -> Iterator[Fact]:
    """Return, for each merchant, the networks of which two sources disagree for long, and which open orders of theirs offer."""
    for cursor in ChainCursor.objects.filter(disagreeing_since__range=(now - _OLDEST_STATE, now - _LATE_FOR)):
        since = cursor.disagreeing_since
        assert since is not None  # noqa: S101 - the filter above
        disruption = Disruption(DisruptionKind.SOURCES_DISAGREE, cursor.chain)
        # No incident has the key 0.
        yield from _to_those_who_offer(disruption, f"0:{cursor.chain}:{since:%y%m%d%H%M%S}", began_at=since)


def _to_those_who_offer(
    disruption: Disruption, name: str, *, began_at: datetime, told: Collection[int | None] = ()
) -> Iterable[Fact]:
    """Return a fact of a disrupted chain for each merchant with open checkouts that offer it, without those in `told`."""
    offered = Checkout.objects.live().filter(mode=Mode.LIVE, offers__has_key=disruption.chain)
    counts: dict[int, int] = defaultdict(int)
    counts |= dict(offered.order_by().values_list("merchant").annotate(open=Count("pk")))
    orders = _newest_orders(offered) if counts.keys() - told else {}
    for merchant_id, count in sorted(counts.items()):
        if merchant_id not in told:
            yield Fact(
                Kind.CHAIN,
                merchant_id,
                Mode.LIVE,
                name,
                title=_heading(disruption),
                text=format_lazy(
                    _("Open checkouts that offer it: {count}. {orders} It began at {began_at:%H:%M} UTC. {meaning}"),
                    count=count,
                    orders=_enumerated(orders.get(merchant_id, [])),
                    began_at=began_at,
                    meaning=_meaning(disruption),
                ),
                route="dashboard_checkouts",
                query=f"offers={disruption.chain}",
            )


def _newest_orders(checkouts: QuerySet[Checkout]) -> dict[int, list[Lazy]]:
    """Return what a merchant calls its newest checkouts, one more than are listed, by merchant."""
    place = Window(RowNumber(), partition_by=F("merchant"), order_by=F("pk").desc())
    newest = checkouts.annotate(place=place).filter(place__lte=_LISTED_ORDERS + 1)
    orders: dict[int, list[Lazy]] = defaultdict(list)
    for one in newest.only("merchant_id", "public_id", "order_ref").order_by("merchant", "place"):
        orders[one.merchant_id].append(_called(one))
    return orders


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
        Kind.PAYOUT: _payouts_since,
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
        Kind.PAYOUT: _payout_named,
        Kind.ENDPOINT: lambda key, _rest, now: _endpoints(Endpoint.objects.filter(pk=key), now),
        Kind.CHAIN: lambda key, _rest, now: [*_chains(Incident.objects.filter(pk=key), now), *_disagreeing(now)],
        Kind.GAS: lambda _key, _rest, _now: [],
    }
)
