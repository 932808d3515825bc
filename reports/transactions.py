"""What became of a transaction: by our records, and where they have none, by the chains' nodes. Nothing is written here."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from django.db.models import Prefetch, Q, QuerySet, TextChoices

from accounts.keys.authentication import Principal
from accounts.states import Mode
from checkouts.inbox.queries import with_rows
from checkouts.inbox.rows import item_row, sentence
from checkouts.models import InboxItem
from checkouts.rescue.service import Books, look_up_in_turn, matched_rows
from checkouts.states import InboxReason, InboxStatus
from gateway.core.api.errors import InvalidRequestError, NotFoundError, RateLimitError, UnavailableError
from gateway.core.api.fields import check_characters
from gateway.core.money import format_units
from payouts.models import Payout, PayoutSource
from payouts.states import PayoutException, PayoutStatus
from wallets.chains.base import FoundMovement, FoundTransaction
from wallets.lookup import Lookup, UnreadableHashError, recorded, spellings
from wallets.models import Transfer
from wallets.networks import chain_spec, chain_title, decimals_of, watched_chains
from wallets.selectors import owners_of
from wallets.states import ClaimKind, TransferState
from wallets.transfers.doubts import doubted_transfers
from x402.models import X402Payment
from x402.states import PaymentStatus

MOST_MOVEMENTS: Final = 100
"""At most so many movements of a transaction are shown, those of the merchant first."""

_BUSY_SECONDS: Final = 5
# Buyers' questions have the other place of the process: programs ask more often than people.
_turn: Final = threading.BoundedSemaphore(1)
# These items are about money that was credited, too.
_BESIDE_CREDITS: Final = frozenset({InboxReason.REVERSED, InboxReason.RIVAL})


class TransactionOutcome(TextChoices):
    """What became of a movement of money."""

    CREDITED = "credited"
    ACCEPTED_LATE = "accepted_late"
    X402 = "x402"
    INBOX = "inbox"
    REFUNDED = "refunded"
    DISMISSED = "dismissed"
    # It reached an address for machines, and no payment was claimed with it.
    UNCLAIMED = "unclaimed"
    UNDECIDED = "undecided"
    # A reorg removed it.
    REVERSED = "reversed"
    # The chain has it, but we have not recorded it.
    UNREAD = "unread"
    # An unlisted token or a chain's own coin, which is never recorded.
    UNSUPPORTED = "unsupported"
    # It did not pay an address of the merchant's.
    ELSEWHERE = "elsewhere"


_SENTENCES: Final = MappingProxyType(
    {
        TransactionOutcome.X402: "It paid for what a machine asked for.",
        TransactionOutcome.REFUNDED: "A refund sent money of it back.",
        TransactionOutcome.DISMISSED: "It was dismissed: the money is yours, and no checkout is credited.",
        TransactionOutcome.UNCLAIMED: "It reached your address for machines, and no payment was claimed with it yet.",
        TransactionOutcome.UNDECIDED: "It was seen, and Florin has not decided yet what it pays.",
        TransactionOutcome.REVERSED: "The network removed this transfer. It counts again if it returns.",
        TransactionOutcome.UNREAD: "It pays your address, and Florin has not recorded it yet.",
        TransactionOutcome.UNSUPPORTED: "It reached your address, but Florin does not know this token.",
        TransactionOutcome.ELSEWHERE: "It did not pay an address at which you receive.",
    }
)


_MARKED: Final = "A person marked it as refunded."
"""Of money that was refunded before 0.26, when nothing was looked for on the chain."""
_TAKEN_BACK: Final = (
    "A refund sent money of it back, and the network reversed that refund. It counts again if it returns."
)


class TransactionStatus(TextChoices):
    """A transaction's own state on its chain."""

    # No block has it yet.
    WAITING = "waiting"
    FAILED = "failed"
    MINED = "mined"
    # A reorg removed it.
    REMOVED = "removed"


class TransactionSource(TextChoices):
    """Where an explanation is from."""

    RECORDS = "records"
    NODES = "nodes"


@dataclass(frozen=True, slots=True)
class TransactionMovement:
    """A token movement, and what became of it. Texts are None where nothing is known or nothing applies.

    `public_id` is that of our row; without one, a node reported it. `amount` is None for an unlisted token, whose decimals are
    unknown. `replaces` is the expired checkout whose late money the checkout took.
    """

    chain: str
    tx_hash: str
    position: int
    token: str | None
    token_address: str | None
    amount: str | None
    sender: str
    recipient: str
    outcome: TransactionOutcome
    explanation: str
    block_time: datetime | None
    public_id: str | None = None
    state: str | None = None
    in_doubt: bool = False
    checkout_id: str | None = None
    replaces: str | None = None
    x402_payment_id: str | None = None
    refund_tx: str | None = None
    inbox_items: Sequence[InboxItem] = ()


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction on one chain."""

    chain: str
    tx_hash: str
    status: TransactionStatus
    block_time: datetime | None
    explorer_url: str | None
    movements: Sequence[TransactionMovement]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The transactions with a hash. If our records have one, no node was asked.

    `unasked` names the chains that did not answer and may have one too.
    """

    mode: Mode
    source: TransactionSource
    transactions: Sequence[Transaction]
    unasked: Sequence[str] = ()


def explain(principal: Principal, text: str, *, chain: str = "") -> Explanation:
    """Return what became of the transaction in a text, on one chain or on each that may have it.

    Raises InvalidRequestError for a text that is no hash, NotFoundError, UnavailableError (chain_unavailable) where a chain that
    may have it does not answer, and RateLimitError if this process runs too many look-ups.
    """
    named = _named(text, chain)
    if known := _recorded(principal, named):
        return Explanation(principal.mode, TransactionSource.RECORDS, known)
    shown = max(named.values(), key=len)
    if principal.mode == Mode.TEST:
        raise NotFoundError(f"Your test records have no transaction {shown}. Test mode asks no node.", param="tx_hash")
    with _one_at_a_time():
        looked = look_up_in_turn(text, chain=chain, asker=str(principal.merchant_id))
    return _found(principal, named, shown, looked)


def _named(text: str, chain: str) -> Mapping[str, str]:
    """Return the hash as each chain that may have it spells it. Raises InvalidRequestError."""
    check_characters(text, "tx_hash")
    try:
        named = spellings(text)
    except UnreadableHashError as error:
        raise InvalidRequestError("tx_hash must be the hash of one transaction.", param="tx_hash") from error
    if chain and chain not in named:
        raise InvalidRequestError(f"tx_hash is no hash of a transaction on {chain}.", param="tx_hash")
    return {chain: named[chain]} if chain else named


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    if not _turn.acquire(blocking=False):
        raise RateLimitError(_BUSY_SECONDS)
    try:
        yield
    finally:
        _turn.release()


def _found(principal: Principal, named: Mapping[str, str], shown: str, looked: Lookup) -> Explanation:
    if looked.transactions:
        told = [_from_chain(principal, one) for one in looked.transactions]
        return Explanation(principal.mode, TransactionSource.NODES, told, looked.unasked)
    if looked.unasked:
        silent = ", ".join(map(chain_title, looked.unasked))
        raise UnavailableError(f"Your records do not have it, and no node answers: {silent}. Ask again in a moment.")
    # Chains without a node were not asked.
    asked = ", ".join(spec.title for spec in watched_chains() if spec.name in named)
    where = f"not on {asked}" if asked else "no chain that may have it is read here"
    raise NotFoundError(f"There is no transaction {shown}: it is not in your records, and {where}.", param="tx_hash")


def _recorded(principal: Principal, named: Mapping[str, str]) -> list[Transaction]:
    """Return the transactions that the merchant's records of this mode have."""
    asked = Q()
    for chain, tx_hash in named.items():
        asked |= Q(chain=chain, tx_hash=tx_hash)
    mine = Q(merchant=principal.merchant_id, mode=principal.mode)
    moved = [
        *_of_transfers(Transfer.objects.filter(asked, mine)),
        *map(_of_machine, X402Payment.objects.filter(asked, mine, transfer=None).order_by("pk")[:MOST_MOVEMENTS]),
    ]
    moved.sort(key=attrgetter("chain", "tx_hash", "position"))
    groups = groupby(moved[:MOST_MOVEMENTS], key=attrgetter("chain", "tx_hash"))
    return [_transaction(principal.mode, *name, list(group)) for name, group in groups]


def _transaction(mode: Mode, chain: str, tx_hash: str, movements: Sequence[TransactionMovement]) -> Transaction:
    url = chain_spec(chain).transaction_url(tx_hash) if mode == Mode.LIVE else None
    is_gone = all(one.state == TransferState.ORPHANED for one in movements)
    status = TransactionStatus.REMOVED if is_gone else TransactionStatus.MINED
    return Transaction(chain, tx_hash, status, movements[0].block_time, url, movements)


def _of_transfers(found: QuerySet[Transfer]) -> list[TransactionMovement]:
    related = ("payment__checkout__replaces", "x402_payment")
    paid = PayoutSource.objects.filter(payout__status=PayoutStatus.PAID).select_related("payout__movement")
    sent_back = Prefetch("payout_sources", paid.order_by("-pk"), to_attr="sent_back_by")
    rows = list(found.select_related(*related).prefetch_related(sent_back).order_by("pk")[:MOST_MOVEMENTS])
    items: dict[int, list[InboxItem]] = {row.pk: [] for row in rows}
    if rows:
        for item in with_rows(InboxItem.objects.filter(transfer__in=list(items))).order_by("pk"):
            items[item.transfer_id].append(item)
    doubted = {
        pk
        for chain, merchant in {(row.chain, row.merchant_id) for row in rows if row.mode == Mode.LIVE}
        for pk in doubted_transfers(chain, merchant_id=merchant)
    }
    return [replace(_of_transfer(row, items[row.pk]), in_doubt=row.pk in doubted) for row in rows]


def _of_transfer(row: Transfer, items: Sequence[InboxItem]) -> TransactionMovement:
    payment, machine = getattr(row, "payment", None), getattr(row, "x402_payment", None)
    checkout = payment.checkout if payment else None
    waiting = next((item for item in reversed(items) if item.reason not in _BESIDE_CREDITS), None)
    outcome = _outcome(row, waiting)
    return TransactionMovement(
        chain=row.chain,
        tx_hash=row.tx_hash,
        position=row.position,
        token=row.token,
        token_address=row.token_address,
        amount=format_units(row.units, row.decimals),
        sender=row.sender,
        recipient=row.recipient,
        outcome=outcome,
        explanation=_explanation(outcome, row, waiting),
        block_time=row.block_time,
        public_id=row.public_id,
        state=row.state,
        checkout_id=checkout.public_id if checkout else None,
        replaces=checkout.replaces.public_id if checkout and checkout.replaces else None,
        x402_payment_id=machine.public_id if machine else None,
        refund_tx=_refund_of(row),
        inbox_items=items,
    )


_CLOSED: Final = MappingProxyType(
    {
        InboxStatus.OPEN: TransactionOutcome.INBOX,
        InboxStatus.REFUNDED: TransactionOutcome.REFUNDED,
        InboxStatus.DISMISSED: TransactionOutcome.DISMISSED,
    }
)


def _outcome(row: Transfer, item: InboxItem | None) -> TransactionOutcome:
    """Return what became of a transfer; `item` is its inbox item, unless that is about a credit."""
    payment = getattr(row, "payment", None)
    if row.state == TransferState.ORPHANED:
        return TransactionOutcome.REVERSED
    if payment is not None:
        is_late = payment.checkout.replaces_id is not None
        return TransactionOutcome.ACCEPTED_LATE if is_late else TransactionOutcome.CREDITED
    if getattr(row, "x402_payment", None) is not None:
        return TransactionOutcome.X402
    if item is not None:
        return _CLOSED.get(InboxStatus(item.status), TransactionOutcome.UNDECIDED)
    if row.purpose == ClaimKind.X402:
        return TransactionOutcome.REFUNDED if _refunds_of(row) else TransactionOutcome.UNCLAIMED
    return TransactionOutcome.UNDECIDED


def _explanation(outcome: TransactionOutcome, row: Transfer, item: InboxItem | None) -> str:
    if outcome in {TransactionOutcome.CREDITED, TransactionOutcome.ACCEPTED_LATE}:
        return f"Credited: {row.payment.reason}."
    if outcome is TransactionOutcome.INBOX and item is not None:
        shown = item_row(item)
        return f"{sentence(shown.words.short)} {shown.explanation}".strip()
    if outcome is TransactionOutcome.REFUNDED:
        refund = _newest_refund(row)
        if refund is None and _refunds_of(row):
            return _TAKEN_BACK
        if refund is None or refund.imported_tx:
            return _MARKED
    return _SENTENCES[outcome]


def _refund_of(row: Transfer) -> str | None:
    """Return the newest transaction that sent money of it back; one of before refunds is as a person noted it."""
    refund = _newest_refund(row)
    if refund is None:
        return None
    return refund.movement.tx_hash if refund.movement else refund.imported_tx


def _newest_refund(row: Transfer) -> Payout | None:
    """Return the newest refund that sent money of it back, its movement loaded; None without one that stands."""
    refunds = (source.payout for source in _refunds_of(row))
    return next((refund for refund in refunds if refund.exception != PayoutException.REVERSED), None)


def _refunds_of(row: Transfer) -> Sequence[PayoutSource]:
    """Return what paid refunds sent back of it, also those that the network has taken back, newest first."""
    sources: Sequence[PayoutSource] = getattr(row, "sent_back_by", ())
    return sources


def _of_machine(payment: X402Payment) -> TransactionMovement:
    """Return a payment by a machine that no watcher recorded: a simulated one, or one of the last seconds."""
    is_reversed = payment.status == PaymentStatus.REVERSED
    outcome = TransactionOutcome.REVERSED if is_reversed else TransactionOutcome.X402
    state = TransferState.CONFIRMED if payment.final_at else TransferState.DETECTED
    token = chain_spec(payment.chain).tokens.get(payment.token)
    return TransactionMovement(
        chain=payment.chain,
        tx_hash=payment.tx_hash,
        position=payment.position,
        token=payment.token,
        token_address=token.address if token else None,
        amount=format_units(payment.units),
        sender=payment.payer,
        recipient=payment.pay_to,
        outcome=outcome,
        explanation=_SENTENCES[outcome],
        block_time=payment.block_time,
        state=TransferState.ORPHANED if is_reversed else state,
        x402_payment_id=payment.public_id,
    )


def _from_chain(principal: Principal, found: FoundTransaction) -> Transaction:
    """Return a node's answer. The merchant's movements come first; a part that is recorded is told by its record."""
    movements = sorted(_chain_movements(principal, found), key=_is_others)[:MOST_MOVEMENTS]
    status = TransactionStatus.MINED if found.succeeded else TransactionStatus.FAILED
    if found.succeeded and found.block_time is None:
        status = TransactionStatus.WAITING
    url = chain_spec(found.chain).transaction_url(found.tx_hash)
    return Transaction(found.chain, found.tx_hash, status, found.block_time, url, movements)


def _is_others(movement: TransactionMovement) -> bool:
    return movement.outcome is TransactionOutcome.ELSEWHERE


def _chain_movements(principal: Principal, found: FoundTransaction) -> Iterator[TransactionMovement]:
    # One TON transaction may cause several transfers, each recorded under its own hash.
    own = [row for row in recorded(found) if row.merchant_id == principal.merchant_id]
    books = Books([row for row in own if row.state != TransferState.ORPHANED], frozenset(), frozenset())
    rows = Transfer.objects.filter(pk__in=[row.pk for row in books.transfers])
    told = {one.public_id: one for one in _of_transfers(rows)}
    mine = _own_keys(principal, found)
    for movement, tx_hash, row in matched_rows(found, books):
        if row is not None:
            yield told[row.public_id]
        else:
            yield _unrecorded(found, movement, tx_hash, is_mine=movement.recipient_key in mine)


def _own_keys(principal: Principal, found: FoundTransaction) -> set[bytes]:
    """Return the recipients' keys that are addresses of the merchant's."""
    owners = owners_of(found.chain, {one.recipient_key for one in found.movements})
    return {key for key, owner in owners.items() if owner.merchant_id == principal.merchant_id}


def _unrecorded(found: FoundTransaction, moved: FoundMovement, tx_hash: str, *, is_mine: bool) -> TransactionMovement:
    outcome = TransactionOutcome.ELSEWHERE
    if is_mine:
        outcome = TransactionOutcome.UNREAD if moved.token else TransactionOutcome.UNSUPPORTED
    return TransactionMovement(
        chain=found.chain,
        tx_hash=tx_hash,
        position=moved.position,
        token=moved.token,
        token_address=moved.token_address or None,
        amount=format_units(moved.units, decimals_of(found.chain, moved.token)) if moved.token else None,
        sender=moved.sender,
        recipient=moved.recipient,
        outcome=outcome,
        explanation=_SENTENCES[outcome],
        block_time=found.block_time,
    )
