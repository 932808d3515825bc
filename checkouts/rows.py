"""Reads checkouts without the ORM: one statement, one tuple, for the fast paths (docs/adr/0003)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

import orjson
from django.db import connection

from checkouts.models import Checkout
from wallets.transfers.doubts import DOUBTED


class CheckoutRow(NamedTuple):
    """A checkout as read by `COLUMNS`, or by `USD_COLUMNS`; `replaces` and `replaced_by` are the public ids of its predecessor and successor."""

    id: int
    public_id: str
    code: str
    mode: str
    status: str
    exception: str
    amount: Decimal
    currency: str
    description: str
    metadata: str
    customer_ref: str
    product_ref: str
    order_ref: str
    offers_json: str
    amount_received: Decimal
    accepted_amount: Decimal | None
    expires_at: datetime
    created_at: datetime
    paid_at: datetime | None
    cancelled_at: datetime | None
    escrow: bool
    replaces: str | None
    replaced_by: str | None
    has_payments: bool
    dues_json: str | None = None
    price: Decimal | None = None
    quote_json: str | None = None

    @property
    def quote(self) -> "QuoteRow | None":
        """Return how the price was converted; None if it is in USD."""
        return None if self.quote_json is None else QuoteRow.read(self.quote_json)

    @property
    def offers(self) -> Any:
        """Return the offers, `{chain: {"tokens": [...], "address": ...}}`."""
        return orjson.loads(self.offers_json)

    @property
    def dues(self) -> Any:
        """Return the dues, `{token: {"units": ...}}`; None where all of its tokens are one USD each."""
        return None if self.dues_json is None else orjson.loads(self.dues_json)

    @property
    def hold_subject(self) -> str:
        """Return the public id under which the escrow's hold is stored; for a successor, its predecessor's."""
        return self.replaces or self.public_id


class QuoteRow(NamedTuple):
    """A quote as `COLUMNS` reads it; `Quote` of the models has the same attributes."""

    price: Decimal
    usd_amount: Decimal
    rate: Decimal
    margin: Decimal
    evidence: list[dict[str, str]]
    taken_at: datetime

    @classmethod
    def read(cls, text: str) -> "QuoteRow":
        """Read the JSON of `quote_json`, in which numbers are texts."""
        told = orjson.loads(text)
        return cls(
            price=Decimal(told["price"]),
            usd_amount=Decimal(told["usd_amount"]),
            rate=Decimal(told["rate"]),
            margin=Decimal(told["margin"]),
            evidence=told["evidence"],
            taken_at=datetime.fromisoformat(told["taken_at"]),
        )


AnyCheckout: TypeAlias = Checkout | CheckoutRow
"""A checkout as its model or as a row, for functions that read only what both have."""

USD_COLUMNS = """
    c.id, c.public_id, c.code, c.mode, c.status, c.exception, c.amount, c.currency, c.description, c.metadata,
    c.customer_ref, c.product_ref, c.order_ref, c.offers::text, c.amount_received,
    c.accepted_amount, c.expires_at, c.created_at, c.paid_at, c.cancelled_at, c.escrow,
    (SELECT r.public_id FROM checkouts_checkout r WHERE r.id = c.replaces_id),
    (SELECT s.public_id FROM checkouts_checkout s WHERE s.replaces_id = c.id),
    EXISTS (SELECT FROM checkouts_payment p WHERE p.checkout_id = c.id)
        OR EXISTS (SELECT FROM checkouts_payment p WHERE p.handed_by_id = c.id),
    c.dues::text
"""
"""Columns of a checkout whose price is in USD: creating one reads no more."""

COLUMNS = f"""
    {USD_COLUMNS}, c.price,
    CASE WHEN c.price IS NOT NULL THEN (
        SELECT json_build_object(
            'price', q.price::text, 'usd_amount', q.usd_amount::text, 'rate', q.rate::text, 'margin', q.margin::text,
            'evidence', q.evidence, 'taken_at', q.taken_at)::text
        FROM checkouts_quote q WHERE q.checkout_id = c.id) END
"""  # noqa: S608 - our own columns


class Refund(NamedTuple):
    """A refund of a checkout's money, for its timeline. One that is noted has no other time than when it was.

    `amount` is what was sent, or is to be, with its `token`. `reversed_at` is when the network took it back, until it returns.
    """

    public_id: str
    amount: str
    token: str
    note: str
    is_noted: bool
    asked_at: datetime
    paid_at: datetime | None
    reversed_at: datetime | None
    ended_at: datetime | None


class TransferRow(NamedTuple):
    """A credited transfer. `head` is the chain's last seen height, for counting confirmations."""

    checkout_id: int
    transfer_id: int
    chain: str
    token: str
    units: int
    tx_hash: str
    position: int
    sender: str
    state: str
    mode: str
    block_height: int
    head: int | None
    detected_at: datetime
    confirmed_at: datetime | None
    orphaned_at: datetime | None
    # Of a part of a large sum: whether a second node vouched for it. None if it was not asked for.
    is_vouched: bool | None = None
    # Its chain was halted and may not have it any more.
    is_doubted: bool = False
    # What refunds sent back of it, in base units.
    returned: int = 0

    @property
    def money(self) -> tuple[str, int]:
        """Return its token and units, as `checkouts.pricing` adds them up."""
        return self.token, self.units

    @property
    def sent_back(self) -> tuple[str, int]:
        """Return its token, and the units of it that refunds sent back."""
        return self.token, self.returned


# An expired checkout still shows transfers that its successor took over.
_TRANSFERS = f"""
    SELECT p.owner, t.id, t.chain, t.token, t.units::text, t.tx_hash, t.position, t.sender, t.state, t.mode,
           t.block_height, k.head, t.detected_at, t.confirmed_at, t.orphaned_at,
           CASE WHEN w.block_hash = t.block_hash THEN w.answered_at IS NOT NULL END,
           COALESCE({DOUBTED}, false), COALESCE(r.returned, 0)::text
    FROM (
        SELECT checkout_id AS owner, transfer_id FROM checkouts_payment
        WHERE checkout_id = ANY(%(ids)b::bigint[])
        UNION ALL
        SELECT handed_by_id, transfer_id FROM checkouts_payment WHERE handed_by_id = ANY(%(ids)b::bigint[])
    ) p
    JOIN wallets_transfer t ON t.id = p.transfer_id
    LEFT JOIN wallets_chaincursor k ON k.chain = t.chain
    LEFT JOIN wallets_witnessrequest w ON w.transfer_id = t.id
    LEFT JOIN wallets_transferreturn r ON r.transfer_id = t.id
    ORDER BY p.owner, t.id
"""  # noqa: S608 - a constant condition


def credited_transfers(checkout_ids: Sequence[int]) -> dict[int, list[TransferRow]]:
    """Return every transfer credited to the checkouts, orphaned ones included, in the order they were recorded.

    A transfer that a successor took over belongs to both checkouts.
    """
    found: dict[int, list[TransferRow]] = defaultdict(list)
    if checkout_ids:
        with connection.cursor() as cursor:
            cursor.execute(_TRANSFERS, {"ids": list(checkout_ids)})
            for values in cursor:
                row = TransferRow._make(values)
                found[row.checkout_id].append(row._replace(units=int(row.units), returned=int(row.returned)))
    return found


def doubted_checkouts(checkout_ids: Sequence[int]) -> set[int]:
    """Return which of the checkouts have a payment in doubt."""
    return {pk for pk, rows in credited_transfers(checkout_ids).items() if any(row.is_doubted for row in rows)}


def transfers_of(rows: Iterable[CheckoutRow]) -> dict[int, list[TransferRow]]:
    """Return the credited transfers of rows, without a query if there are none."""
    return credited_transfers([row.id for row in rows if row.has_payments])
