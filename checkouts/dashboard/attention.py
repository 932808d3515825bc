"""The notices about a merchant's payments that need attention, and the capacity meter of exact amounts."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from django.db.models import Count, F, Q

from accounts.states import Mode
from accounts.team.access import Seat
from checkouts.amounts import CAPACITY, KEPT_FROM_LINKS
from checkouts.inbox.queries import MOST_COUNTED, alarm_count, open_count
from checkouts.models import AmountReservation
from gateway.core.money import readable
from wallets.models import ReceivingWallet
from wallets.networks import chain_spec
from wallets.receiving.inspection import objected_wallets
from wallets.selectors import chain_statuses, down_reasons, receiving_wallets
from wallets.states import ChainStatus, ClaimKind, DownReason
from wallets.transfers.doubts import Doubt, doubts
from webhooks.dashboard.queries import failing_count

SHORT_FROM: Final = CAPACITY * 8 // 10
"""The number of a price's amounts in use that triggers a warning."""

LINK_CAPACITY: Final = CAPACITY - len(KEPT_FROM_LINKS)
"""How many amounts of a price payment links may take."""

_FEW_FOR_LINKS: Final = LINK_CAPACITY - LINK_CAPACITY * 8 // 10
_MOST_SHOWN: Final = 5
PARITY: Final = (F("suffix") / 100 + F("suffix") % 100) % 2
"""1 in the database for `KEPT_FROM_LINKS`, a list too long for a query parameter; 0 for the others."""

# Most serious first.
_TROUBLES: Final = (
    (ChainStatus.DOWN, "cannot be read now.", "It is not offered to buyers. No payment is lost."),
    (ChainStatus.DELAYED, "is delayed.", "Payments on it take longer to show. No payment is lost."),
)


class Capacity(NamedTuple):
    """A price in USD, how many of its exact amounts live and cooling checkouts use, and how many are left.

    Payment links may take `left_for_links` of these.
    """

    price: str
    used: int
    left: int
    left_for_links: int

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


class Notice(NamedTuple):
    """A notice: its line, an explanation, and the page to act on it; `tone` is warn or bad."""

    heading: str
    words: str
    url: str
    label: str
    tone: str


def notices_of(seat: Seat, capacities: Iterable[Capacity], *, now: datetime) -> list[Notice]:
    """Return the current notices, the most urgent first."""
    halts = _halts(seat, now) if seat.mode == Mode.LIVE else []
    # Orders at risk come first; a stopped chain without them is as urgent as one that cannot be read.
    wallets = [_wallet(seat, wallet) for wallet in objected_wallets(seat.merchant.pk)]
    found = [*(one for one in halts if one.tone == "bad"), *wallets, _alarms(seat), _inbox(seat), _endpoints(seat)]
    found += [_short(seat, one) for one in capacities if one.is_short]
    if seat.mode == Mode.LIVE:
        found += [one for one in halts if one.tone != "bad"]
        found += _networks(seat, now)
    return [notice for notice in found if notice is not None]


def _wallet(seat: Seat, wallet: ReceivingWallet) -> Notice:
    """Return the notice about a wallet that its chain objects to."""
    is_lost, for_machines = wallet.refused_at is not None, wallet.purpose == ClaimKind.X402
    page = "dashboard_x402_setup" if for_machines else "dashboard_receiving_wallets"
    title = f"{chain_spec(wallet.chain).title} wallet{' for machines' if for_machines else ''}"
    return Notice(
        f"Your {title} {'loses' if is_lost else 'may lose'} what it receives.",
        "It is offered no more. Add another." if is_lost else "Check that you can move what arrives there.",
        seat.url(page),
        "See wallets",
        "bad" if is_lost else "warn",
    )


def _alarms(seat: Seat) -> Notice | None:
    count = alarm_count(seat)
    if not count:
        return None
    many = f"{count} payments were" if count > 1 else "A payment was"
    return Notice(
        f"{many} reversed by the network.",
        "Hold the goods back if you still can.",
        f"{seat.url('dashboard_inbox')}?reason=reversed",
        "See alarms",
        "bad",
    )


def _inbox(seat: Seat) -> Notice | None:
    # Alarms have their own notice.
    waiting = open_count(seat) - alarm_count(seat)
    if waiting <= 0:
        return None
    many = f"{waiting} payments wait" if waiting > 1 else "1 payment waits"
    if waiting == MOST_COUNTED:
        many = f"{waiting} payments or more wait"
    return Notice(
        f"{many} in your inbox.", "Review and match them.", seat.url("dashboard_inbox"), "Open the inbox", "warn"
    )


def _endpoints(seat: Seat) -> Notice | None:
    count = failing_count(seat)
    if not count:
        return None
    many = f"{count} webhook addresses do" if count > 1 else "A webhook address does"
    return Notice(
        f"{many} not answer.",
        "No event is lost. Events are sent once it answers.",
        seat.url("dashboard_webhooks"),
        "See webhooks",
        "bad",
    )


def _short(seat: Seat, capacity: Capacity) -> Notice:
    return Notice(
        f"{capacity.left:,} exact amounts of {capacity.price} USD are left, {capacity.left_for_links:,} of them for payment links.",
        "Without one, new checkouts of this price offer only Base and Polygon. A price one cent higher or lower has its own amounts.",
        seat.url("dashboard_checkouts"),
        "See checkouts",
        "warn",
    )


def _networks(seat: Seat, now: datetime) -> list[Notice]:
    wallets = receiving_wallets(seat.merchant.pk)
    if not wallets:
        return [
            Notice(
                "You have no receiving wallet.",
                "You need one before you can create a live checkout.",
                seat.url("dashboard_receiving_wallets"),
                "Set a wallet",
                "warn",
            )
        ]
    statuses, reasons = chain_statuses(now=now), down_reasons(now=now)
    return [
        Notice(
            f"{chain_spec(chain).title} {trouble}",
            words,
            seat.url("dashboard_receiving_wallets"),
            "See wallets",
            "warn",
        )
        for status, trouble, words in _TROUBLES
        for chain in wallets
        if statuses.get(chain) == status and reasons.get(chain) != DownReason.HALTED
    ]


def _halts(seat: Seat, now: datetime) -> list[Notice]:
    """Return a notice for each halted chain that the merchant's orders or wallets are on."""
    reasons = down_reasons(now=now)
    halted = [name for name, why in reasons.items() if why == DownReason.HALTED]
    if not halted:
        return []
    found = {one.chain: one for one in doubts(merchant_id=seat.merchant.pk)}
    mine = found.keys() | receiving_wallets(seat.merchant.pk).keys()
    return [_halt(seat, chain, found.get(chain)) for chain in halted if chain in mine]


def _halt(seat: Seat, chain: str, doubt: Doubt | None) -> Notice:
    title = chain_spec(chain).title
    words = f"{title} contradicts what we read from it. A person decides how it goes on."
    if doubt is None:
        url = seat.url("dashboard_receiving_wallets")
        heading = f"{title} was stopped."
        return Notice(heading, words, url, "See wallets", "warn")
    return Notice(
        f"Hold orders paid on {title} since {doubt.since:%H:%M} UTC: {doubt.payments}",
        f"{words} These payments may be lost, also where they were confirmed.",
        f"{seat.url('dashboard_checkouts')}?doubt={chain}",
        "See these orders",
        "bad",
    )
