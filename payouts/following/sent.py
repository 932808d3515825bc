"""What was sent from wallets that are not watched: a person names the transaction, and the chain says whether it paid.

It gives back money for which no refund was asked here, or pays a payout that waits, such as one that an exchange sent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.money import from_units
from gateway.core.texts import pgettext_noop
from payouts.following.attaching import attach
from payouts.following.candidates import is_waiting
from payouts.following.service import EXPECTED_FOR
from payouts.lifecycle.service import Terms, locked_payout, request_refund
from payouts.lifecycle.sources import Source, is_usd, source_transfers
from payouts.models import Payout, PayoutSurplus
from payouts.outflows.matching import CLOCKS_DIFFER
from payouts.states import AddressBy, PayoutStatus
from wallets.chains.base import TokenTransfer
from wallets.lookup import look_up
from wallets.models import Transfer, WatchedMovement
from wallets.networks import chain_title, decimals_of
from wallets.states import Direction, TransferState, WatchPurpose
from wallets.transfers.hashes import UnreadableHashError
from wallets.transfers.movements import NewMovement, ask_witness_of, queue_movements, record_movements
from wallets.watched.service import expect_payouts, watch_recipient

_UNREADABLE: Final = pgettext_noop(
    "team", "This doesn't look like a transaction hash. Copy it from your wallet or an explorer."
)
_UNKNOWN: Final = pgettext_noop("team", "No network knows this transaction. Check the hash, or try again in a minute.")
_UNASKED: Final = pgettext_noop("team", "{chains} cannot be asked right now. Try again in a minute.")
_FAILED: Final = pgettext_noop("team", "This transaction failed: it sent nothing.")
_WAITING: Final = pgettext_noop("team", "This transaction waits for a block. Try again in a minute.")
_NOTHING: Final = pgettext_noop("team", "This transaction sends nothing that can give this payment back.")
_OTHER: Final = pgettext_noop(
    "team",
    "This transaction does not pay this: recipient, amount and token have to be the same, and it must not be older.",
)
_IN_TEST_MODE: Final = pgettext_noop("team", "In test mode no network has transactions.")
_NOT_WAITING: Final = pgettext_noop("team", "This does not wait to be paid, or its transaction is known already.")
_USED: Final = pgettext_noop("team", "This transaction already pays another refund or payout.")
_ASKED: Final = pgettext_noop(
    "team",
    "{payout} sends the same amount of this money to the same address, and waits to be paid. Cancel it first, or it is paid once more.",
)


def sent_transfers(text: str, source: Source, *, merchant: Merchant, mode: Mode) -> list[TokenTransfer]:
    """Return what a transaction sent that may have given a source's money back, as chains report it. Nodes are asked.

    Raises InvalidRequestError (param tx_hash) for a text that is no hash, and for a transaction that is unknown, failed, waits for a
    block, or sent nothing that fits; and what `source_transfers` raises.
    """
    transfers = source_transfers(source, merchant_id=merchant.pk, mode=mode)
    return _looked_up(text, merchant.pk, fits=lambda one: _may_give_back(one, transfers), else_said=_NOTHING)


def paying_transfers(text: str, payout: Payout) -> list[TokenTransfer]:
    """Return what a transaction sent that is exactly what a payout owes, as chains report it. Nodes are asked.

    Raises InvalidRequestError as `sent_transfers` does.
    """
    return _looked_up(text, payout.merchant_id, fits=lambda one: _is_owed(one, payout), else_said=_OTHER)


def _looked_up(
    text: str, merchant_id: int, *, fits: Callable[[TokenTransfer], bool], else_said: str
) -> list[TokenTransfer]:
    try:
        looked = look_up(text, asker=f"refunds:{merchant_id}")
    except UnreadableHashError as error:
        raise _refused(_UNREADABLE) from error
    if not looked.transactions:
        chains = ", ".join(map(chain_title, looked.unasked))
        raise _refused(_UNASKED, chains=chains) if chains else _refused(_UNKNOWN)
    mined = [found for found in looked.transactions if found.succeeded]
    if not mined:
        raise _refused(_FAILED)
    if all(found.block_height is None for found in mined):
        raise _refused(_WAITING)
    fitting = [one for found in mined for one in found.transfers if fits(one)]
    if not fitting:
        raise _refused(else_said if all(found.is_whole for found in mined) else _WAITING)
    return fitting


def _refused(message: str, **values: object) -> InvalidRequestError:
    return InvalidRequestError(message, param="tx_hash", values=values)


def _may_give_back(sent: TokenTransfer, transfers: Sequence[Transfer]) -> bool:
    """Whether a movement is worth what came, is not older, and is not what came."""
    newest = transfers[0]
    is_worth = (sent.chain, sent.token) == (newest.chain, newest.token) or (
        is_usd(sent.chain, sent.token) and is_usd(newest.chain, newest.token)
    )
    is_later = sent.block_time >= min(one.block_time for one in transfers) - CLOCKS_DIFFER
    is_same = any((one.chain, one.tx_hash) == (sent.chain, sent.tx_hash) for one in transfers)
    return is_worth and is_later and not is_same


def _is_owed(sent: TokenTransfer, payout: Payout) -> bool:
    """Whether a movement is what a payout owes, to whom it is owed, and not older than the payout."""
    owed = (payout.chain, payout.token, payout.address, int(payout.units))
    is_later = sent.block_time >= payout.created_at - CLOCKS_DIFFER
    return is_later and (sent.chain, sent.token, sent.recipient, sent.units) == owed


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a movement is known: at a listed wallet that sent it, or at the recipient, which is watched for it."""

    movement: WatchedMovement
    is_own: bool


@transaction.atomic
def record_sent(
    merchant: Merchant,
    sent: TokenTransfer,
    *,
    mode: Mode,
    source: Source,
    reason: str = "",
    now: datetime,
    actor: Actor,
) -> Payout:
    """Record a refund that a looked up movement sent, and follow that: it is paid once the chain has it for good.

    Nobody approves it, as nothing is left to be sent. Raises ConflictError if the movement pays something else already, or a refund
    of this money waits for it, AmountNotRefundableError if it sent more than is left, and what `request_refund` raises.
    """
    if mode != Mode.LIVE:
        raise ConflictError(_IN_TEST_MODE)
    # Before the payout: it locks the merchant, so that two people who name one transaction wait here.
    place = _place_of(merchant, sent, actor=actor, now=now)
    _refuse_used(merchant, mode, sent)
    _refuse_asked(merchant, mode, sent, source)
    terms = Terms(chain=sent.chain, token=sent.token, address=sent.recipient, address_by=AddressBy.CHAIN, reason=reason)
    amount = from_units(sent.units, decimals_of(sent.chain, sent.token))
    payout = request_refund(merchant, mode=mode, source=source, amount=amount, terms=terms, now=now, actor=actor).payout
    # As after a restore: it waits for its outflow, and would need approvals to be sent.
    Payout.objects.filter(pk=payout.pk).update(approved_at=now)
    _follow(payout, sent, place, action="payout.sent_named", actor=actor, now=now)
    return payout


@transaction.atomic
def name_transaction(payout: Payout, sent: TokenTransfer, *, actor: Actor, now: datetime) -> Payout:
    """Say that a looked up movement pays a payout which waits for its outflow, and follow that.

    It is paid once the chain has the movement for good. Raises ConflictError if the movement pays something else already, or is not
    what the payout owes, and (state_conflict) if the payout does not wait.
    """
    if payout.mode != Mode.LIVE:
        raise ConflictError(_IN_TEST_MODE)
    # Before the payout, as in `record_sent`.
    place = _place_of(payout.merchant, sent, actor=actor, now=now)
    _refuse_used(payout.merchant, Mode(payout.mode), sent)
    locked = locked_payout(payout)
    if not is_waiting(locked):
        raise ConflictError(_NOT_WAITING, code="state_conflict")
    if not _is_owed(sent, locked):
        raise ConflictError(_OTHER)
    _follow(locked, sent, place, action="payout.transaction_named", actor=actor, now=now)
    return locked


def _follow(payout: Payout, sent: TokenTransfer, place: _Place, *, action: str, actor: Actor, now: datetime) -> None:
    """Attach what was named to the payout that it pays. Raises ConflictError if it pays another one."""
    # Before what `attach` locks, as who follows it does.
    WatchedMovement.objects.select_for_update(of=("self",), no_key=True).get(pk=place.movement.pk)
    if not attach(payout.pk, place.movement.pk):
        raise ConflictError(_USED)
    if not place.is_own:
        # One node told of it. The chain and a second node, if there is one, have to vouch for it in its block.
        ask_witness_of(place.movement.pk, now=now)
    queue_movements([place.movement.pk], now=now)
    after = {"tx_hash": sent.tx_hash, "units": str(sent.units), "address": payout.address}
    record(payout.merchant, action=action, actor=actor, object_id=payout.public_id, after=after, now=now)
    payout.refresh_from_db()


def _place_of(merchant: Merchant, sent: TokenTransfer, *, actor: Actor, now: datetime) -> _Place:
    until = now + EXPECTED_FOR
    wallet = watch_recipient(
        merchant, mode=Mode.LIVE, chain=sent.chain, address=sent.recipient, until=until, actor=actor, now=now
    )
    mine = WatchedMovement.objects.filter(merchant=merchant, mode=Mode.LIVE)
    standing = mine.filter(**_same(sent)).exclude(state=TransferState.ORPHANED)
    own = standing.filter(direction=Direction.OUT, wallet__purpose=WatchPurpose.LIST, counterparty=wallet.address)
    if (movement := own.first()) is not None:
        expect_payouts([movement.wallet_id], until=until)
        return _Place(movement, is_own=True)
    record_movements([NewMovement(wallet.pk, merchant.pk, Direction.IN, sent)], now=now)
    return _Place(standing.get(wallet=wallet, direction=Direction.IN), is_own=False)


def _refuse_used(merchant: Merchant, mode: Mode, sent: TokenTransfer) -> None:
    """Refuse a movement that pays another payout, at the other side's wallet too: the same money gives back once."""
    theirs: dict[str, Any] = {f"movement__{name}": value for name, value in _same(sent).items()}
    mine = Payout.objects.of(merchant.pk, mode)
    is_surplus = PayoutSurplus.objects.filter(payout__merchant=merchant, payout__mode=mode, **theirs).exists()
    if is_surplus or mine.filter(**theirs).exists():
        raise ConflictError(_USED)


def _refuse_asked(merchant: Merchant, mode: Mode, sent: TokenTransfer, source: Source) -> None:
    """Refuse a movement that a refund of the same money waits for: recorded beside it, it would leave that one to be paid."""
    money = source_transfers(source, merchant_id=merchant.pk, mode=mode)
    waiting = Payout.objects.of(merchant.pk, mode).filter(
        status__in=(PayoutStatus.REQUESTED, PayoutStatus.APPROVED, PayoutStatus.SENDING),
        movement=None,
        chain=sent.chain,
        token=sent.token,
        address=sent.recipient,
        units=sent.units,
        sources__transfer__in=money,
    )
    if (asked := waiting.first()) is not None:
        raise ConflictError(_ASKED, values={"payout": asked.public_id})


def _same(sent: TokenTransfer) -> dict[str, Any]:
    return {"chain": sent.chain, "tx_hash": sent.tx_hash, "position": sent.position, "token": sent.token}
