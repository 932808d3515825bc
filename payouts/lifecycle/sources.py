"""The transfers that a refund sends back: those of a checkout, of a machine's payment, or one that is named; and how much of each."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Final

from django.db.models import Exists, OuterRef, Q, Sum

from accounts.states import Mode
from checkouts.models import Checkout, InboxDecision, InboxItem
from checkouts.pricing import value_of
from checkouts.states import InboxReason, InboxStatus
from gateway.core.api.errors import ConflictError, InvalidRequestError, NotFoundError
from gateway.core.money import TOKEN_DECIMALS, format_units, from_units
from gateway.core.texts import pgettext_noop
from payouts.errors import AmountNotRefundableError
from payouts.models import Payout, PayoutSource
from payouts.states import FINAL, PayoutException
from settlements.sweeps.escrow import holds_of
from wallets.models import Transfer, TransferClaim
from wallets.networks import chain_spec, is_accepted
from wallets.states import TransferState
from wallets.transfers.doubts import doubted_of
from wallets.transfers.hashes import UnreadableHashError, spellings
from wallets.transfers.returns import (
    NothingLeftError,
    Return,
    ReturnChange,
    change_returns,
    reserve_returns,
    returns_of,
)
from wallets.transfers.service import claim_for_refund
from x402.models import X402Payment
from x402.payments.claims import awaits_payment

_NOTICES: Final = (InboxReason.REVERSED, InboxReason.RIVAL)
"""Reasons of items about money that was credited."""
_NOTHING: Final = Return()
# A person's mark is for all of the money, and a refund, which resolves its item too, for as much as it sent.
# A refund that the network took back counts, too: it may return, and its money stays reserved.
_BY_A_PAYOUT: Final = Q(transfer__sent_back__reserved__gt=0)

_GONE: Final = pgettext_noop("team", "The network reversed this payment, so there is nothing to send back.")
_DOUBTED: Final = pgettext_noop(
    "team", "This payment may be lost: its network was stopped. Wait until it is read again."
)
_UNFINAL: Final = pgettext_noop("team", "This payment is not final yet. Wait until it is.")
_UNUSED: Final = pgettext_noop("team", "This payment is not processed yet. Try again in a minute.")
_DECIDED: Final = pgettext_noop(
    "team", "Somebody has just decided about this money in the inbox. Try again in a minute."
)
_HELD: Final = pgettext_noop(
    "team",
    "This money is held in escrow. Release it first: it then goes to your wallet, and you send it back from there.",
)
_NOTED: Final = pgettext_noop("team", "A refund of this money is already recorded.")
_PAYABLE: Final = pgettext_noop(
    "team",
    "This checkout still waits for the rest of its price, and would complete with this money too. Accept it as paid, or wait until "
    "the checkout has expired: then send it back.",
)
_EMPTY: Final = pgettext_noop("team", "This checkout has no money to send back.")
_MOVED: Final = pgettext_noop(
    "team", "This checkout has no money. What came late for it is with the checkout that replaced it."
)


@dataclass(frozen=True, slots=True)
class Source:
    """What a refund is of: exactly one of a checkout, a machine's payment, both by public id, or a transfer.

    A transfer is named by chain and hash in any spelling, and by its position if its transaction has several to this merchant.
    """

    checkout: str = ""
    x402_payment: str = ""
    chain: str = ""
    tx_hash: str = ""
    position: int | None = None


@dataclass(frozen=True, slots=True)
class Rest:
    """A transfer and the base units of it that no refund has reserved."""

    transfer: Transfer
    units: int


def source_transfers(source: Source, *, merchant_id: int, mode: Mode) -> list[Transfer]:
    """Return the transfers of a merchant's source, newest first: those worth the same, so that their units add up.

    Raises NotFoundError for what this merchant does not have in this mode, and ConflictError where no money is there yet, any
    more or any longer, and while escrow holds it.
    """
    own = Transfer.objects.filter(merchant=merchant_id, mode=mode)
    if source.checkout:
        found = _of_checkout(source.checkout, merchant_id, mode)
    elif source.x402_payment:
        found = _of_machine(source.x402_payment, merchant_id, mode)
    else:
        named = own.filter(chain=source.chain, tx_hash=_spelled(source))
        found = list(named if source.position is None else named.filter(position=source.position))
        if not found:
            raise NotFoundError("There is no such payment to you.", param="source")
        if len(found) > 1:
            raise InvalidRequestError(
                "This transaction paid you several times: give the position.", param="source", code="parameter_missing"
            )
    if _is_held({transfer.pk for transfer in found}):
        # For good: what was released is never held again.
        raise ConflictError(_HELD, param="source")
    _refuse_payable({transfer.pk for transfer in found})
    newest_first = sorted(found, key=lambda transfer: (transfer.block_time, transfer.pk), reverse=True)
    return _worth_the_same(newest_first, _dues_of(source, merchant_id, mode))


def refuse_unprovable(transfers: Sequence[Transfer], chains: Collection[str], address: str) -> None:
    """Refuse a refund of transfers, to be paid on one of some chains, whose payer cannot prove an address. Raises InvalidRequestError.

    `address` is the one that its asker gave, if any.
    """
    if address:
        raise InvalidRequestError(
            pgettext_noop("team", "Leave address out: the payer proves it on the claim page."),
            param="requires_payer_proof",
        )
    paying = {chain_spec(one.chain).family.name for one in transfers if one.sender}
    if {chain_spec(chain).family.name for chain in chains} - paying:
        raise InvalidRequestError(
            pgettext_noop("team", "An address that paid is not known on each of these chains, so nobody can prove it."),
            param="requires_payer_proof",
        )


def sends_back(payout: Payout, source: Source) -> bool:
    """Return whether a refund is of a source: some of what it sends back came for that. Raises InvalidRequestError for no hash."""
    if source.checkout:
        # A successor's money was its predecessor's, and late money waits in the inbox.
        through = ("transfer__payment__checkout", "transfer__payment__handed_by", "transfer__inbox_items__checkout")
        found = reduce(or_, (Q(**{f"{path}__public_id": source.checkout}) for path in through))
    elif source.x402_payment:
        found = Q(transfer__x402_payment__public_id=source.x402_payment)
    else:
        found = Q(transfer__chain=source.chain, transfer__tx_hash=_spelled(source))
        if source.position is not None:
            found &= Q(transfer__position=source.position)
    return payout.sources.filter(found).exists()


def _spelled(source: Source) -> str:
    try:
        return spellings(source.tx_hash).get(source.chain, "")
    except UnreadableHashError as error:
        raise InvalidRequestError("This doesn't look like a transaction hash.", param="source") from error


def _of_checkout(public_id: str, merchant_id: int, mode: Mode) -> list[Transfer]:
    """Return what a checkout received: what was credited to it, and what came for it and waits in the inbox, or was sent back from
    there in part.
    """
    checkout = Checkout.objects.filter(merchant=merchant_id, mode=mode, public_id=public_id).first()
    if checkout is None:
        raise NotFoundError("There is no such checkout.", param="source")
    ours = Q(status=InboxStatus.OPEN) | Q(status=InboxStatus.REFUNDED) & _BY_A_PAYOUT
    waiting = InboxItem.objects.filter(ours, checkout=checkout).exclude(reason__in=_NOTICES)
    brought = Q(payment__checkout=checkout) | Q(pk__in=waiting.values("transfer"))
    found = list(Transfer.objects.filter(brought, merchant=merchant_id, mode=mode))
    if not found:
        raise ConflictError(_MOVED if Checkout.objects.filter(replaces=checkout).exists() else _EMPTY, param="source")
    final = [transfer for transfer in found if transfer.state == TransferState.CONFIRMED]
    # What is not final is left to a later refund, but for a checkout that has nothing else.
    return final or found


def _of_machine(public_id: str, merchant_id: int, mode: Mode) -> list[Transfer]:
    payments = X402Payment.objects.select_related("transfer").filter(merchant=merchant_id, mode=mode)
    payment = payments.filter(public_id=public_id).first()
    if payment is None:
        raise NotFoundError("There is no such payment.", param="source")
    if payment.transfer is None:
        raise ConflictError(pgettext_noop("team", "No watcher has recorded this payment yet."), param="source")
    return [payment.transfer]


def _worth_the_same(found: Sequence[Transfer], dues: Collection[str]) -> list[Transfer]:
    """Return the USD tokens if there are any, else those of the newest one's token.

    Tokens of another currency that paid a checkout, which has `dues` for them, follow once nothing is left of the USD tokens.
    """
    usd = [transfer for transfer in found if is_usd(transfer.chain, transfer.token)]
    others = [transfer for transfer in found if transfer.token in dues]
    if usd and not (others and not any(rest.units for rest in rests_of(usd))):
        return usd
    first = others[0] if usd else found[0]
    return [one for one in found if (one.chain, one.token) == (first.chain, first.token)]


def _dues_of(source: Source, merchant_id: int, mode: Mode) -> Collection[str]:
    """Return the tokens of another currency that a source's checkout takes."""
    if not source.checkout:
        return ()
    found = Checkout.objects.filter(merchant=merchant_id, mode=mode, public_id=source.checkout)
    return found.values_list("dues", flat=True).first() or ()


def is_usd(chain: str, token: str) -> bool:
    """Return whether a token is one of those that are worth a dollar and have six decimals."""
    return is_accepted(chain, token)


def held_transfers(ids: Collection[int], *, now: datetime) -> list[Transfer]:
    """Lock transfers in the usual order, and return them, newest first, if all of them can be sent back.

    What came to an address for machines and paid for nothing is claimed for that: no proof uses it later, also once the refund ended.
    Raises ConflictError where one is not final, gone, in doubt, not decided about, noted as refunded, or part of a price that is still
    due.
    """
    claim_for_refund(ids, now=now)
    rows = Transfer.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=ids).order_by("pk")
    held = list(rows)
    for transfer in held:
        if transfer.state == TransferState.ORPHANED:
            raise ConflictError(_GONE, param="source")
        if transfer.state != TransferState.CONFIRMED:
            raise ConflictError(_UNFINAL, param="source")
    if doubted_of([transfer.pk for transfer in held]):
        raise ConflictError(_DOUBTED, param="source")
    _refuse_unready({transfer.pk for transfer in held}, now)
    # Credited since it was looked at.
    _refuse_payable({transfer.pk for transfer in held})
    return sorted(held, key=lambda transfer: (transfer.block_time, transfer.pk), reverse=True)


def _refuse_unready(ids: set[int], now: datetime) -> None:
    """Refuse money that is neither used nor in the inbox or is about to be used, and money about which something else is decided."""
    items = InboxItem.objects.filter(transfer__in=ids).exclude(reason__in=_NOTICES)
    if items.filter(status=InboxStatus.REFUNDED).exclude(_BY_A_PAYOUT).exists():
        raise ConflictError(_NOTED, param="source")
    standing = InboxDecision.objects.filter(item=OuterRef("pk"), done_at=None, undone_at=None, failed_at=None)
    if items.filter(Exists(standing)).exists():
        raise ConflictError(_DECIDED, param="source")
    credited = set(TransferClaim.objects.filter(transfer__in=ids).values_list("transfer_id", flat=True))
    if ids - credited - set(items.values_list("transfer_id", flat=True)) or awaits_payment(ids, now=now):
        raise ConflictError(_UNUSED, param="source")


def _refuse_payable(ids: Collection[int]) -> None:
    """Refuse money of a checkout that more money completes: the buyer would get the goods for the rest alone."""
    final = {"payments__transfer__in": ids, "payments__transfer__state": TransferState.CONFIRMED}
    if Checkout.objects.live().filter(**final).exists():
        raise ConflictError(_PAYABLE, param="source")


def _is_held(ids: Collection[int]) -> bool:
    """Return whether escrow holds one of these transfers."""
    brought = Q(payments__transfer__in=ids) | Q(inbox_items__transfer__in=ids)
    checkouts = Checkout.objects.filter(brought, escrow=True).select_related("replaces")
    holds = holds_of([checkout.hold_subject for checkout in checkouts])
    return any(hold.released_at is None for hold in holds.values())


def rests_of(transfers: Sequence[Transfer]) -> list[Rest]:
    """Return what is left of transfers, in their order."""
    returns = returns_of([transfer.pk for transfer in transfers])
    return [Rest(one, max(0, int(one.units) - returns.get(one.pk, _NOTHING).reserved)) for one in transfers]


def shares_of(rests: Sequence[Rest], units: int) -> Mapping[int, int]:
    """Return how many units each transfer gives, by its key: the first ones give all they have.

    Raises AmountNotRefundableError if they have less than `units`, or nothing.
    """
    shares = {}
    missing = units
    for rest in rests:
        part = min(rest.units, missing)
        if part > 0:
            shares[rest.transfer.pk] = part
            missing -= part
    if missing or not shares:
        raise AmountNotRefundableError(refundable_amount(rests))
    return shares


def sourceless(payouts: Collection[int]) -> tuple[set[int], set[int]]:
    """Return which refunds, of those with these keys, lost a payment that they return to a reorg, and which may have.

    Of neither is anything signed or sent: the first wait for its return, the others for a decision about the halted chain.
    """
    rows = list(PayoutSource.objects.filter(payout__in=payouts).values_list("payout", "transfer", "transfer__state"))
    gone = {payout for payout, _, state in rows if state == TransferState.ORPHANED}
    in_doubt = doubted_of({transfer for _, transfer, _ in rows}) if rows else set()
    return gone, {payout for payout, transfer, _ in rows if transfer in in_doubt} - gone


def parts_of(payout: Payout, units: int) -> list[tuple[PayoutSource, int]]:
    """Return a refund's sources, each with the base units of it that an outflow of `units` sends back: the first ones all they have."""
    parts: list[tuple[PayoutSource, int]] = []
    left = units
    for source in payout.sources.order_by("pk"):
        part = min(int(source.units), left)
        parts.append((source, part))
        left -= part
    return parts


def recount_returns(payout: Payout, units: int, *, is_gone: bool) -> None:
    """Count what a paid refund's outflow of `units` sent back as not returned, once a reorg removed it, or as returned again.

    It stays reserved, because the outflow may return. What is sent again may be more than a person accepted before: the rest is then
    reserved, too, unless other refunds have it. No more is counted than is reserved for this one.
    """
    parts = {source.transfer_id: part for source, part in parts_of(payout, units)}
    kept = returns_of(list(parts))
    if is_gone:
        change_returns([ReturnChange(pk, returned=-min(parts[pk], one.returned)) for pk, one in kept.items()])
        return
    others = _promised_by_others(payout, list(parts))
    own = {pk: max(0, one.reserved - one.returned - others.get(pk, 0)) for pk, one in kept.items()}
    if lacking := {pk: parts[pk] - room for pk, room in own.items() if parts[pk] > room}:
        with suppress(NothingLeftError):
            reserve_returns(lacking)
            own |= parts
    change_returns([ReturnChange(pk, returned=min(parts[pk], room)) for pk, room in own.items()])


def _promised_by_others(payout: Payout, ids: Collection[int]) -> dict[int, int]:
    """Return how many units of transfers other refunds promise that have not sent them, or whose outflow a reorg removed."""
    unsent = ~Q(payout__status__in=FINAL) | Q(payout__exception=PayoutException.REVERSED)
    rows = PayoutSource.objects.filter(unsent, transfer__in=ids).exclude(payout=payout)
    return {pk: int(sum_) for pk, sum_ in rows.values_list("transfer").annotate(Sum("units")).order_by()}


def overpaid_rest(checkout: Checkout) -> Decimal:
    """Return what of a checkout's payments is above its price, in USD, and promised back by no refund; zero if nothing is."""
    tokens = dict(checkout.payments.values_list("transfer", "transfer__token"))
    returns = returns_of(list(tokens))
    promised = from_units(value_of(checkout, ((tokens[pk], one.reserved) for pk, one in returns.items())))
    return max(checkout.amount_received - checkout.amount - promised, Decimal(0))


def refundable_amount(rests: Sequence[Rest]) -> str:
    """Return what is left of transfers worth the same, as the API writes amounts."""
    decimals = rests[0].transfer.decimals if rests else TOKEN_DECIMALS
    return format_units(sum(rest.units for rest in rests), decimals)
