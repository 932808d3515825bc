"""What a page tells its buyer without being asked: money that does not pay the checkout, money that is held, and what disrupts it.

What is told is certain: the deposit address, a reference or the exact amount names the checkout, so no stranger's payment is
ever shown. The words are those of the rescue (`checkouts.rescue`), for which the buyer would have to know the hash.
"""

from datetime import datetime
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.db import connection

from checkouts.lifecycle.moves import EVENT_OF
from checkouts.models import Checkout
from checkouts.page.state import CheckoutPage, PageNews, Stage
from checkouts.payloads import checkout_url
from checkouts.rescue.answers import RescueAnswer, RescueOutcome, shown, standing_of
from checkouts.rescue.rules import find
from checkouts.rescue.service import Books, details_of, from_books
from checkouts.states import CheckoutStatus, InboxReason, InboxStatus
from gateway.core.money import to_units
from settlements.gas.claims import unused
from settlements.selectors import low_gas
from wallets.disruptions import Disruption, DisruptionKind, Reader, Told, tell, worst_by_chain
from wallets.models import Transfer
from wallets.networks import six_decimals
from wallets.transfers.doubts import DOUBTED
from webhooks.selectors import unheard

# Anybody may send cents to an address that is known.
MOST_TOLD: Final = 5
_LATE: Final = {InboxReason.LATE, InboxReason.LATE_OUTAGE}

HELD: Final = """(
    c.escrow AND EXISTS (
        SELECT FROM settlements_hold h
        WHERE h.released_at IS NULL AND h.subject_id = COALESCE(
            (SELECT r.public_id FROM checkouts_checkout r WHERE r.id = c.replaces_id), c.public_id))
)"""
"""Whether the money of a checkout `c` is in escrow, and not released. A successor's is held under its predecessor's id."""

ITEMS: Final = """
    checkouts_inboxitem i JOIN wallets_transfer t ON t.id = i.transfer_id
    LEFT JOIN wallets_chaincursor k ON k.chain = t.chain
    WHERE i.checkout_id = c.id AND i.reason IN ('late', 'late_outage', 'extra', 'wrong_network', 'wrong_token')
      AND t.state <> 'orphaned'
"""
"""The inbox items `i` of a checkout `c` about money `t` that is there and pays nothing. Dust is nearly always spam."""

RETURNED: Final = f"""
    CASE WHEN i.status <> 'refunded' OR EXISTS (
        SELECT FROM checkouts_inboxdecision d WHERE d.item_id = i.id AND d.act = 'refunded' AND d.done_at IS NOT NULL
    ) THEN '{RescueOutcome.SENT_BACK}' ELSE COALESCE((
        SELECT CASE WHEN r.returned >= t.units THEN '{RescueOutcome.RETURNED}'
               WHEN r.returned > 0 THEN '{RescueOutcome.RETURNED_IN_PART}'
               ELSE '{RescueOutcome.CLOSED}' END
        FROM wallets_transferreturn r WHERE r.transfer_id = t.id AND r.reserved > 0
    ), '{RescueOutcome.SENT_BACK}') END
"""  # noqa: S608 - constants
"""What the page says of refunded money `t` of an item `i`: what outflows on the chain sent back, or else what a person noted once.

While a reorg has removed what was sent back, the money is only closed.
"""

SUCCESSOR: Final = """(
    SELECT s.code FROM checkouts_checkout s
    WHERE s.replaces_id = c.id AND s.status = 'completed' AND s.exception <> 'reversed'
)"""
"""The page code of the completed checkout that took the money of a checkout `c`."""

RELAYED: Final = """
    (SELECT json_build_array(g.id, g.purpose, g.state, g.succeeded, s.id, s.outcome)::text
     FROM settlements_relayclaim r LEFT JOIN settlements_gastransaction g ON g.id = r.transaction_id
     LEFT JOIN settlements_sponsoredtransaction s ON s.id = r.sponsored_id WHERE r.subject = c.public_id),
    (SELECT g.expires_at FROM settlements_relayclaim r JOIN settlements_gastransaction g ON g.id = r.transaction_id
     WHERE r.subject = c.public_id)
"""
"""What became of the transaction that the buyer of a checkout `c` signed for us to send, and until when anybody may send it."""

# A token that is not accepted may be in the merchant's own wallet for any checkout of its price: `asked` are the exact
# amounts that name this one.
_NEWS: Final = f"""
    SELECT {HELD}, {SUCCESSOR}, item.* FROM checkouts_checkout c LEFT JOIN LATERAL (
        SELECT i.reason, i.status, COALESCE({DOUBTED}, false), t.deposit_id IS NOT NULL,
               CASE WHEN i.reason = 'wrong_token' AND t.deposit_id IS NULL THEN ARRAY(
                    SELECT r.price + r.suffix * 0.000001 FROM checkouts_amountreservation r
                    WHERE r.checkout_id = c.id AND r.reserved_at <= t.block_time + interval '1 minute') END,
               (SELECT p.checkout_id FROM checkouts_payment p WHERE p.transfer_id = t.id),
               (SELECT s.id FROM checkouts_checkout s WHERE s.replaces_id = c.id),
               t.id, t.chain, t.tx_hash, t.position, t.token, t.units::text, t.recipient, t.block_time, t.state, t.decided_at,
               {RETURNED}
        FROM {ITEMS}
        ORDER BY i.status = 'open' DESC, i.id DESC LIMIT {MOST_TOLD}
    ) item ON true
    WHERE c.id = %s
"""  # noqa: S608 - constants


class _Item(NamedTuple):
    """An inbox item about money for the checkout. `paid` is the checkout that it is credited to, `successor` this one's."""

    reason: str
    status: str
    is_doubted: bool
    is_deposit: bool
    asked: list[Any] | None
    paid: int | None
    successor: int | None
    transfer_id: int
    chain: str
    tx_hash: str
    position: int
    token: str
    units: str
    recipient: str
    block_time: datetime
    state: str
    decided_at: datetime | None
    # The outcome if it is refunded: what the chain shows, or what the merchant says.
    returned: str

    @property
    def is_named(self) -> bool:
        """Whether address, reference or exact amount names the checkout, and not only its price."""
        if self.reason != InboxReason.WRONG_TOKEN or self.is_deposit:
            return True
        units = six_decimals(self.chain, self.token, int(self.units))
        return units in {to_units(amount) for amount in self.asked or ()}

    def outcome(self) -> RescueOutcome:
        """Return what the merchant decided."""
        match InboxStatus(self.status):
            case InboxStatus.OPEN:
                return RescueOutcome.WAITING
            case InboxStatus.REFUNDED:
                return RescueOutcome(self.returned)
        return RescueOutcome.CLOSED


def read_news(checkout: Checkout) -> PageNews:
    """Return what a checkout's page tells without being asked; one query, by indexes."""
    with connection.cursor() as cursor:
        cursor.execute(_NEWS, [checkout.pk])
        rows = cursor.fetchall()
    is_held, successor, *_ = rows[0]
    items = [_Item(*values) for _, _, *values in rows if values[0] is not None]
    return PageNews(
        told=tuple(_told(item, checkout) for item in items if _is_told(item, checkout)),
        has_late_money=any(item.reason in _LATE and item.status == InboxStatus.OPEN for item in items),
        successor_url=f"{checkout_url(successor)}/receipt" if successor else "",
        is_held=is_held,
    )


def _is_told(item: _Item, checkout: Checkout) -> bool:
    # The page shows what a person credited to this checkout like any other payment, and that the successor took money. A
    # network in doubt proves nothing.
    is_paid = item.paid is not None and item.paid in {checkout.pk, item.successor}
    is_shown = is_paid and item.status != InboxStatus.OPEN
    return item.is_named and not item.is_doubted and not is_shown


def _told(item: _Item, checkout: Checkout) -> RescueAnswer:
    books = Books(
        transfers=[_transfer(item)],
        credited=frozenset({item.transfer_id} if item.paid == checkout.pk else ()),
        meant=frozenset({item.transfer_id}),
    )
    finding = find(from_books(checkout, books), standing_of(checkout), is_all=True)
    return shown(
        checkout, details_of(finding), case=finding.case, tx_hash=item.tx_hash, chain=item.chain, outcome=item.outcome()
    )


def _transfer(item: _Item) -> Transfer:
    return Transfer(
        pk=item.transfer_id,
        chain=item.chain,
        tx_hash=item.tx_hash,
        position=item.position,
        token=item.token,
        units=int(item.units),
        recipient=item.recipient,
        block_time=item.block_time,
        state=item.state,
        decided_at=item.decided_at,
    )


def unused_signature(page: CheckoutPage, *, now: datetime) -> int:
    """Return when the buyer signed, in seconds, what no block took and none can; 0 if nothing is like that. One query, by indexes.

    Anybody may have sent it in time, so nothing is said while its network is not read to the end, or money is told that came.
    """
    is_asked = bool(settings.GAS_FREE) and not page.is_test and page.stage in {Stage.PAY, Stage.EXPIRED}
    found = unused(page.public_id, now=now) if is_asked and not page.forbids_paying else None
    if found is None or found.chain in worst_by_chain(now=now):
        return 0
    return int(found.signed_at.timestamp())


def empty_gas(page: CheckoutPage) -> Told | None:
    """Say that the gas is nearly used up that would pay the network's fee of what the page asks for; None where the buyer pays it."""
    payment = page.target.payment if page.target else None
    if page.target is None or payment is None or payment.wallet is None or not payment.wallet.is_free:
        return None
    return next((tell(one, Reader.BUYER) for one in low_gas(chains=[page.target.chain])), None)


def unheard_by_shop(page: CheckoutPage) -> Told | None:
    """Say that no server of the shop knows yet that the checkout is paid, because of one that does not answer. One query, by indexes."""
    if not page.is_confirmed:
        return None
    found = unheard(page.public_id, EVENT_OF[CheckoutStatus.COMPLETED])
    if found is None:
        return None
    kind = DisruptionKind.ENDPOINT_OFF if found.is_off else DisruptionKind.ENDPOINT_FAILING
    return tell(Disruption(kind, since=found.since, affected=1), Reader.BUYER)
