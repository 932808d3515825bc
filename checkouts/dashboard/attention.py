"""The notices about a merchant's payments that need attention, and the capacity meter of exact amounts."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import urlencode

from django.db.models import Count, F, Q
from django.utils.translation import gettext, ngettext

from accounts.states import Mode
from accounts.team.access import Seat
from accounts.team.permissions import Act
from checkouts.amounts import CAPACITY, KEPT_FROM_LINKS
from checkouts.disruptions import disrupted_chains, disrupted_endpoints, empty_gas, open_checkouts, reversals
from checkouts.inbox.queries import MOST_COUNTED, InboxTab, alarm_count, items_in, open_count
from checkouts.inbox.rows import Story
from checkouts.inbox.service import promised_back
from checkouts.inbox.stories import stories_of
from checkouts.models import AmountReservation, InboxItem
from checkouts.states import InboxReason
from gateway.core.money import readable, readable_units
from wallets.disruptions import Disruption, DisruptionKind, Reader, Told, by_severity, tell, worst_by_chain
from wallets.models import ReceivingWallet
from wallets.networks import chain_spec, round_price_chains
from wallets.receiving.inspection import objected_wallets
from wallets.selectors import receiving_wallets
from wallets.states import ClaimKind
from wallets.transfers.doubts import doubts
from webhooks.dashboard.queries import failing_delivery

SHORT_FROM: Final = CAPACITY * 8 // 10
"""The number of a price's amounts in use that triggers a warning."""

SHOWN_FROM: Final = CAPACITY // 2 + 1
"""The number of a price's amounts in use from which the overview shows how many are left."""

LINK_CAPACITY: Final = CAPACITY - len(KEPT_FROM_LINKS)
"""How many amounts of a price payment links may take."""

_FEW_FOR_LINKS: Final = LINK_CAPACITY - LINK_CAPACITY * 8 // 10
_MOST_SHOWN: Final = 5
# So many items of the inbox have a notice of their own.
_MOST_ITEMS: Final = 3
PARITY: Final = (F("suffix") / 100 + F("suffix") % 100) % 2
"""1 in the database for `KEPT_FROM_LINKS`, a list too long for a query parameter; 0 for the others."""


class Capacity(NamedTuple):
    """A price in USD, how many of its exact amounts live and cooling checkouts use, and how many are left.

    Payment links may take `left_for_links` of these.
    """

    price: str
    used: int
    left: int
    left_for_links: int

    @property
    def is_shown(self) -> bool:
        """Whether so many are in use that it is worth a look."""
        return self.used >= SHOWN_FROM or self.is_short

    @property
    def is_short(self) -> bool:
        """Whether it is time to warn."""
        return self.used >= SHORT_FROM or self.left_for_links <= _FEW_FOR_LINKS


def capacities_of(seat: Seat) -> list[Capacity]:
    """Return the prices with the fewest exact amounts left, at most five; none where no exact amount is in use."""
    held = AmountReservation.objects.filter(merchant=seat.merchant, mode=seat.mode, released_at=None)
    counted = held.alias(parity=PARITY).values("price")
    counted = counted.annotate(used=Count("pk"), of_links=Count("pk", filter=Q(parity=0)))
    rows = counted.order_by("-used", "price").values_list("price", "used", "of_links")
    return [
        Capacity(readable(price), used, max(CAPACITY - used, 0), max(LINK_CAPACITY - of_links, 0))
        for price, used, of_links in rows[:_MOST_SHOWN]
    ]


class DashboardNotice(NamedTuple):
    """A notice: its line, an explanation, and the page to act on it; `tone` is warn or bad.

    With `told` it is about a disruption, and shown in the words that everybody reads about it.
    """

    heading: str
    words: str
    url: str
    label: str
    tone: str
    told: Told | None = None


def notices_of(seat: Seat, capacities: Iterable[Capacity], *, now: datetime) -> list[DashboardNotice]:
    """Return the current notices, the most urgent first."""
    of_chains = _chains(seat, now) if seat.mode == Mode.LIVE else []
    # Orders at risk come first; a stopped chain without them is as urgent as one that cannot be read.
    wallets = [_wallet(seat, wallet) for wallet in objected_wallets(seat.merchant.pk)]
    found = [*(one for one in of_chains if one.tone == "bad"), *wallets, *_alarms(seat), *_inbox(seat, now)]
    found += [_endpoint(seat, one) for one in disrupted_endpoints(seat.merchant.pk, seat.mode)]
    found += [_short(seat, one) for one in capacities if one.is_short]
    found += [one for one in of_chains if one.tone != "bad"]
    return found


def _disrupted(disruption: Disruption, url: str, label: str) -> DashboardNotice:
    told = tell(disruption, Reader.MERCHANT)
    words = f"{told.meaning} {told.doing} {told.advice}"
    return DashboardNotice(told.heading, words, url, label, "bad" if told.is_urgent else "warn", told)


def _wallet(seat: Seat, wallet: ReceivingWallet) -> DashboardNotice:
    """Return the notice about a wallet that its chain objects to."""
    is_lost, for_machines = wallet.refused_at is not None, wallet.purpose == ClaimKind.X402
    page = "dashboard_x402_setup" if for_machines else "dashboard_receiving_wallets"
    if for_machines:
        lost = gettext("Your %(network)s wallet for machines loses what it receives.")
        doubtful = gettext("Your %(network)s wallet for machines may lose what it receives.")
    else:
        lost = gettext("Your %(network)s wallet loses what it receives.")
        doubtful = gettext("Your %(network)s wallet may lose what it receives.")
    advice = gettext("It is offered no more. Add another."), gettext("Check that you can move what arrives there.")
    return DashboardNotice(
        (lost if is_lost else doubtful) % {"network": chain_spec(wallet.chain).title},
        advice[0] if is_lost else advice[1],
        seat.url(page),
        gettext("See wallets"),
        "bad" if is_lost else "warn",
    )


def _alarms(seat: Seat) -> list[DashboardNotice]:
    address = f"{seat.url('dashboard_inbox')}?reason=reversed"
    return [_disrupted(one, address, gettext("See alarms")) for one in reversals(seat.merchant.pk, seat.mode)]


def _inbox(seat: Seat, now: datetime) -> list[DashboardNotice]:
    # Alarms have their own notice.
    waiting = open_count(seat) - alarm_count(seat)
    if 0 < waiting <= _MOST_ITEMS:
        return _items(seat, now)
    if waiting <= 0:
        return []
    many = ngettext("%(count)s payment waits in your inbox.", "%(count)s payments wait in your inbox.", waiting)
    if waiting == MOST_COUNTED:
        many = gettext("%(count)s payments or more wait in your inbox.")
    words, here = gettext("Review and match them."), seat.url("dashboard_inbox")
    return [DashboardNotice(many % {"count": waiting}, words, here, gettext("Open the inbox"), "warn")]


def _items(seat: Seat, now: datetime) -> list[DashboardNotice]:
    """Return a notice for each of the few items that wait: what came, and the act that the evidence points to, to be confirmed."""
    items = items_in(seat, InboxTab.OPEN).exclude(reason=InboxReason.REVERSED)
    newest = list(items.order_by("-pk")[:_MOST_ITEMS])
    stories, promised = stories_of(newest, now=now), promised_back(newest)
    return [_item(seat, item, stories[item.pk], is_promised=item.pk in promised) for item in newest]


def _item(seat: Seat, item: InboxItem, story: Story, *, is_promised: bool) -> DashboardNotice:
    address, label = seat.url("dashboard_inbox_item", item_id=item.pk), gettext("Open it")
    if story.deeds and seat.can(Act.RUN_PAYMENTS) and not is_promised:
        deed = story.deeds[0]
        query = {"act": str(deed.act), "checkout": deed.checkout, "accepted": deed.accepted}
        given = urlencode({name: value for name, value in query.items() if value})
        address, label = f"{seat.url('dashboard_inbox_decide', item_id=item.pk)}?{given}", f"{deed.label}…"
    transfer = item.transfer
    amount = f"{readable_units(int(transfer.units), transfer.decimals)} {transfer.token}"
    heading = gettext("%(amount)s waits in your inbox.") % {"amount": amount}
    return DashboardNotice(heading, story.sentence, address, label, "warn")


def _endpoint(seat: Seat, disruption: Disruption) -> DashboardNotice:
    delivery_id = failing_delivery(seat) if disruption.kind == DisruptionKind.ENDPOINT_FAILING else ""
    if delivery_id:
        address = seat.url("dashboard_delivery", delivery_id=delivery_id)
        return _disrupted(disruption, address, gettext("Open the failing delivery"))
    return _disrupted(disruption, seat.url("dashboard_webhooks"), gettext("See webhooks"))


def _short(seat: Seat, capacity: Capacity) -> DashboardNotice:
    return DashboardNotice(
        gettext("%(left)s exact amounts of %(price)s USD are left, %(left_for_links)s of them for payment links.")
        % {"left": f"{capacity.left:,}", "price": capacity.price, "left_for_links": f"{capacity.left_for_links:,}"},
        gettext(
            "Without one, new checkouts of this price offer only %(networks)s. A price one cent higher or lower has its own amounts."
        )
        % {"networks": round_price_chains(gettext("and"))},
        seat.url("dashboard_checkouts"),
        gettext("See checkouts"),
        "warn",
    )


def _chains(seat: Seat, now: datetime) -> list[DashboardNotice]:
    """Return a notice for each disrupted chain that the merchant's orders or wallets are on."""
    found = strip_of(seat, now=now)
    return found if receiving_wallets(seat.merchant.pk) else [_no_wallet(seat), *found]


def strip_of(seat: Seat, *, now: datetime) -> list[DashboardNotice]:
    """Return a notice for each disrupted network and empty gas account of a merchant's live payments, the most serious first.

    Each page of the dashboard shows them, so they cost one small query while all is well.
    """
    if seat.mode != Mode.LIVE:
        return []
    found = [*disrupted_chains(seat.merchant.pk, now=now), *empty_gas(seat.merchant.pk)]
    return [_network(seat, one) for one in by_severity(found)]


def _network(seat: Seat, disruption: Disruption) -> DashboardNotice:
    checkouts = seat.url("dashboard_checkouts")
    if disruption.kind == DisruptionKind.GAS_LOW:
        return _disrupted(disruption, seat.url("dashboard_settlements"), gettext("See settlements"))
    if disruption.kind == DisruptionKind.HALTED and disruption.affected:
        return _disrupted(disruption, f"{checkouts}?doubt={disruption.chain}", gettext("See these orders"))
    if open_checkouts(seat.merchant.pk, disruption.chain).exists():
        return _disrupted(disruption, f"{checkouts}?offers={disruption.chain}", gettext("See open checkouts"))
    return _disrupted(disruption, seat.url("dashboard_receiving_wallets"), gettext("See wallets"))


def told_of_network(seat: Seat, chain: str, *, now: datetime) -> Told | None:
    """Say what disrupts a chain that open checkouts of a merchant offer; None if nothing does."""
    worst = worst_by_chain(now=now).get(chain)
    return tell(worst, Reader.MERCHANT) if worst is not None and seat.mode == Mode.LIVE else None


def told_of_risk(seat: Seat, chain: str, *, now: datetime) -> Told | None:
    """Say why a merchant's orders on a halted chain are at risk; None if none is."""
    halted = worst_by_chain(now=now).get(chain)
    if halted is None or halted.kind != DisruptionKind.HALTED or seat.mode != Mode.LIVE:
        return None
    risk = next(iter(doubts(chain=chain, merchant_id=seat.merchant.pk)), None)
    return tell(replace(halted, since=risk.since, affected=risk.payments), Reader.MERCHANT) if risk else None


def _no_wallet(seat: Seat) -> DashboardNotice:
    return DashboardNotice(
        gettext("You have no receiving wallet."),
        gettext("You need one before you can create a live checkout."),
        seat.url("dashboard_receiving_wallets"),
        gettext("Set a wallet"),
        "warn",
    )
