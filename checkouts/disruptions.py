"""What disrupts a merchant's payments now: its chains, gas, reversals and webhooks. The overview and the API read this; operators, all of it.

The words are those of `wallets.disruptions`.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final

from django.db.models import QuerySet

from accounts.states import Mode
from checkouts.inbox.queries import MOST_COUNTED, open_alarms
from checkouts.models import Checkout, InboxItem
from checkouts.states import InboxReason, InboxStatus
from settlements.selectors import low_gas
from wallets.disruptions import Disruption, DisruptionKind, by_severity, chain_disruptions
from wallets.networks import chain_spec
from wallets.selectors import receiving_wallets
from wallets.transfers.doubts import doubts
from webhooks.listed.service import id_of
from webhooks.models import Delivery, Endpoint
from webhooks.selectors import UNFINISHED, failing, switched_off, troubled_endpoints, troubled_everywhere

_MOST_ENDPOINTS: Final = 50


def disrupted_chains(merchant_id: int, *, now: datetime) -> list[Disruption]:
    """Return what disrupts the chains that a merchant's live orders or wallets are on, the most serious first.

    A halted chain has the number of the merchant's payments in doubt.
    """
    disruptions = chain_disruptions(now=now)
    is_halted = any(one.kind == DisruptionKind.HALTED for one in disruptions)
    risks = {one.chain: one for one in doubts(merchant_id=merchant_id)} if is_halted else {}
    concerned = {*receiving_wallets(merchant_id), *risks}
    found = []
    for one in disruptions:
        risk = risks.get(one.chain) if one.kind == DisruptionKind.HALTED else None
        if risk is not None:
            found.append(replace(one, since=risk.since, affected=risk.payments))
        elif one.chain in concerned:
            found.append(one)
    return found


def empty_gas(merchant_id: int) -> list[Disruption]:
    """Return the chains on which a merchant's settlements wait for gas."""
    return low_gas(
        chains=[name for name in receiving_wallets(merchant_id) if not chain_spec(name).exact_amount_required]
    )


def reversals(merchant_id: int, mode: Mode) -> list[Disruption]:
    """Return that payments were reversed and nobody decided about them yet; nothing if there are none."""
    return _reversed(open_alarms(merchant_id, mode))


def disrupted_endpoints(merchant_id: int, mode: Mode) -> list[Disruption]:
    """Return that some of a merchant's endpoints fail, and that some are switched off: one disruption for each kind."""
    return _of_endpoints(troubled_endpoints(merchant_id, mode))


def merchant_disruptions(
    merchant_id: int, mode: Mode, *, now: datetime, sees_endpoints: bool = True
) -> list[Disruption]:
    """Return all that disrupts a merchant's payments of a mode, the most serious first, with its orders at risk.

    Each endpoint is one disruption; a reader who may not see endpoints gets that some fail, and no number. Simulated money depends on no
    chain.
    """
    found = reversals(merchant_id, mode)
    if sees_endpoints:
        found += _one_by_one(merchant_id, mode)
    else:
        found += [replace(one, affected=1) for one in disrupted_endpoints(merchant_id, mode)]
    if mode == Mode.LIVE:
        found += [
            replace(one, orders=orders_at_risk(merchant_id, one)) for one in disrupted_chains(merchant_id, now=now)
        ]
        found += empty_gas(merchant_id)
    return by_severity(found)


def disruptions_everywhere(*, now: datetime) -> list[Disruption]:
    """Return what disrupts live payments of all merchants, the most serious first, for operators."""
    alarms = InboxItem.objects.filter(status=InboxStatus.OPEN, reason=InboxReason.REVERSED, mode=Mode.LIVE)
    endpoints = troubled_everywhere().filter(mode=Mode.LIVE)
    return by_severity([*_reversed(alarms), *_of_endpoints(endpoints), *chain_disruptions(now=now), *low_gas()])


def _reversed(alarms: QuerySet[InboxItem]) -> list[Disruption]:
    since = alarms.order_by("created_at").values_list("created_at", flat=True).first()
    if since is None:
        return []
    count = alarms.order_by()[:MOST_COUNTED].count()
    return [Disruption(DisruptionKind.REVERSED, since=since, affected=count, orders=count)]


def _of_endpoints(endpoints: QuerySet[Endpoint]) -> list[Disruption]:
    kinds = {DisruptionKind.ENDPOINT_FAILING: failing(endpoints), DisruptionKind.ENDPOINT_OFF: switched_off(endpoints)}
    return [Disruption(kind, since=since, affected=count) for kind, (count, since) in kinds.items() if count]


def _one_by_one(merchant_id: int, mode: Mode) -> Iterator[Disruption]:
    for row in troubled_endpoints(merchant_id, mode).order_by("pk")[:_MOST_ENDPOINTS]:
        waiting = Delivery.objects.filter(endpoint=row, status__in=UNFINISHED).order_by()[:MOST_COUNTED].count()
        is_off = row.disabled_at is not None
        yield Disruption(
            DisruptionKind.ENDPOINT_OFF if is_off else DisruptionKind.ENDPOINT_FAILING,
            since=row.disabled_at if is_off else row.failing_since,
            affected=1,
            endpoint=id_of(row),
            orders=waiting,
        )


def orders_at_risk(merchant_id: int, disruption: Disruption) -> int:
    """Return how many payments of a halted chain are in doubt, or how many open checkouts offer a chain that is late."""
    if disruption.kind == DisruptionKind.HALTED:
        return disruption.affected
    return open_checkouts(merchant_id, disruption.chain).order_by()[:MOST_COUNTED].count()


def open_checkouts(merchant_id: int, chain: str) -> QuerySet[Checkout]:
    """Return the live checkouts that offer a chain and are not final."""
    return Checkout.objects.live().filter(merchant=merchant_id, mode=Mode.LIVE, offers__has_key=chain)
