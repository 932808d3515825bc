"""Asks for refunds and payouts, gives them their address, cancels, expires and concludes them. No function here sends money."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, Inexact
from typing import Any, Final

import structlog
from django.db import IntegrityError, InterfaceError, OperationalError, transaction
from django.db.models import Q

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.currencies import USD
from gateway.core.ids import new_id
from gateway.core.money import from_units, to_units
from gateway.core.texts import pgettext_noop
from payouts.errors import AmountNotRefundableError, PayoutStateError, SeemsPaidError
from payouts.events import News, tell
from payouts.lifecycle.claims import new_claim, takes_address
from payouts.lifecycle.mails import promise_paid
from payouts.lifecycle.quotes import MOST, checkout_with_due, new_quote, refund_amount
from payouts.lifecycle.recipients import Recipient, learn, payable_address, take_over
from payouts.lifecycle.sources import (
    Source,
    held_transfers,
    is_usd,
    parts_of,
    refundable_amount,
    refuse_unprovable,
    rests_of,
    sends_back,
    shares_of,
    source_transfers,
)
from payouts.models import Payout, PayoutSource
from payouts.outflows.lost_outflows import fitting_outflows, following_what_fits
from payouts.states import MOVES, UNSENT, AddressBy, PayoutException, PayoutKind, PayoutStatus
from wallets.models import WalletProof, WatchedMovement
from wallets.networks import chain_spec, decimals_of, is_accepted
from wallets.receiving.service import named_chain, typed_address
from wallets.states import TransferState
from wallets.transfers.movements import queue_movements
from wallets.transfers.returns import NothingLeftError, ReturnChange, change_returns, reserve_returns

log = structlog.get_logger(__name__)

CLAIM_SPAN: Final = timedelta(days=30)
"""How long a claim page waits for an address, unless the asker says otherwise."""
SHORTEST_CLAIM: Final = timedelta(hours=1)
LONGEST_CLAIM: Final = timedelta(days=365)
MOST_CHOICES: Final = 20
"""How many pairs of chain and token a recipient may choose from."""
_AT_ONCE: Final = 200
_UNPROVED: Final = pgettext_noop(
    "team", "This refund goes only to an address that paid and proves it. The payer does that on the claim page."
)
_PEOPLES: Final = "A person of your team gave this address. People change it, in the dashboard."
_UNQUOTED: Final = "{1} on {0} was never quoted in {2}. Leave currency out: amount is in {1} then."
_SEEMS_PAID: Final = pgettext_noop(
    "team", "Your wallet seems to have paid this {kind} already. Look again in a minute."
)
_TOO_FINE: Final = pgettext_noop("team", "{token} on {chain} has {decimals} decimals.")
_ADDRESSED: Final = (
    "status",
    "chain",
    "token",
    "address",
    "address_by",
    "addressed_at",
    "proved_at",
    "inspected_at",
    "contract_on",
    "objection",
    "revision",
    "approved_at",
)

Pair = tuple[str, str]
"""A chain and a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a payout says beside its amount. Without an `address` the recipient gives one on the claim page.

    A refund without `chain` and `token` is of those of its newest source. `choices` are further pairs of chain and token for the
    recipient, worth the same. `metadata` is JSON text, `key_id` the public id of the API key that asks; `address` is in any spelling,
    and `recipient` what its chain said of it before the caller's transaction (`payouts.lifecycle.recipients`).
    `requires_proof` is of refunds: they go only to an address that paid, and whose key signs our message.
    """

    chain: str = ""
    token: str = ""
    address: str = ""
    recipient: Recipient | None = None
    choices: Sequence[Pair] = ()
    address_by: AddressBy = AddressBy.API
    reason: str = ""
    reference: str = ""
    email: str = ""
    metadata: str = "{}"
    claim_for: timedelta = CLAIM_SPAN
    key_id: str = ""
    requires_proof: bool = False


@dataclass(frozen=True, slots=True)
class Requested:
    """A payout that was asked for. `code` opens its claim page: it is empty without one, and for a payout that was there.

    `is_new` is False if the reference named a payout that was there.
    """

    payout: Payout
    code: str
    is_new: bool


def request_refund(
    merchant: Merchant,
    *,
    mode: Mode,
    source: Source,
    amount: Decimal | None = None,
    currency: str = "",
    terms: Terms,
    now: datetime,
    actor: Actor = SYSTEM,
) -> Requested:
    """Ask for a refund of an amount in the source's token, or of all that is left of it; return it with its claim code.

    The amount is reserved at once: no other refund can promise it. It is in `currency` if there is one: in USD, as one token for a
    dollar, or in the checkout's own, which is converted at the checkout's quote, whatever the rate is now. What came in a token of
    another currency goes back in it, at what that is worth in the checkout.

    Raises what `source_transfers` and `held_transfers` raise, AmountNotRefundableError, InvalidRequestError (chain_unsupported,
    token_unsupported, address_invalid, address_forbidden, amount_invalid, amount_out_of_range, expires_in_out_of_range;
    currency_unsupported for money that had no quote), and ConflictError (duplicate) where the reference names a payout, or a
    refund of another source, of another amount or to another place.
    """
    amount_in = refund_amount(amount, currency, source, merchant, mode)
    if present := _present(merchant, mode, PayoutKind.REFUND, amount_in, terms, source):
        return present
    transfers = source_transfers(source, merchant_id=merchant.pk, mode=mode)
    rests = rests_of(transfers)
    # Again: the same request may have taken it since.
    if present := _present(merchant, mode, PayoutKind.REFUND, amount_in, terms, source):
        return present
    newest = (transfers[0].chain, transfers[0].token)
    if currency and not is_usd(*newest) and not checkout_with_due(source, newest[1], merchant, mode):
        raise InvalidRequestError(_UNQUOTED.format(*newest, currency), param="currency", code="currency_unsupported")
    wanted = amount_in(*newest)
    asked = sum(rest.units for rest in rests) if wanted is None else _units_of(wanted, *newest)
    if not asked:
        raise AmountNotRefundableError(refundable_amount(rests))
    choices = _refund_choices(newest, terms)
    if terms.requires_proof:
        refuse_unprovable(transfers, [chain for chain, _ in choices], terms.address)
    involved = list(shares_of(rests, asked))
    draft = _draft(merchant, mode, PayoutKind.REFUND, asked, choices, terms, now, actor)
    return _ask(draft, terms, now, actor, reserve=lambda payout: _reserve(payout, involved, now), source=source)


def request_payout(
    merchant: Merchant,
    *,
    mode: Mode,
    amount: Decimal,
    currency: str = "",
    terms: Terms,
    now: datetime,
    actor: Actor = SYSTEM,
) -> Requested:
    """Ask for a payout of an amount of an accepted token; return it with its claim code.

    The amount is in `currency` if there is one: in USD, as one token for a dollar, or in another that prices may be in, which is
    converted at the rate of now. The reference names what was asked for: a repeat gets the first, whatever the rate is then.

    Raises RateUnavailableError, InvalidRequestError (chain_unsupported, token_unsupported, address_invalid, address_forbidden,
    amount_invalid, amount_out_of_range, expires_in_out_of_range) and ConflictError (duplicate) where the reference names another amount
    or a refund.
    """
    currency = "" if currency == USD else currency
    if present := _present(merchant, mode, PayoutKind.PAYOUT, lambda *_: amount, terms, currency=currency):
        return present
    choices = _usd_choices([(terms.chain, terms.token), *terms.choices])
    quote = new_quote(amount, currency, now=now) if currency else None
    units = _units_of(Decimal(quote["usd_amount"]) if quote else amount, *choices[0])
    draft = _draft(merchant, mode, PayoutKind.PAYOUT, units, choices, terms, now, actor)
    draft.quote = quote
    return _ask(draft, terms, now, actor, reserve=lambda _: None)


def set_address(
    payout: Payout,
    *,
    address: str,
    chain: str = "",
    token: str = "",
    by: AddressBy,
    now: datetime,
    actor: Actor = SYSTEM,
    recipient: Recipient | None = None,
    proof: WalletProof | None = None,
) -> Payout:
    """Say where a payout goes; return it as it is then. `recipient` is what its chain said of the address, if it was asked.

    The chain and token are one of its choices; without a chain, those it has. A new address voids the approvals of the one before. A
    recipient and an API key can change it until it is approved, a person until it is handed out; what a person gave, a key cannot.
    Without a used `proof` of the address, one that requires a proof is refused. Raises ConflictError (state_conflict), and InvalidRequestError (chain_unsupported, token_unsupported, address_invalid, address_forbidden).
    """
    with following_what_fits([payout], now=now):
        held = locked_payout(payout)
        changeable = UNSENT if by == AddressBy.PERSON else (PayoutStatus.OPEN, PayoutStatus.REQUESTED)
        if held.status not in changeable:
            raise PayoutStateError(PayoutStateError.SETTLED, held.kind, held.status)
        if held.status == PayoutStatus.OPEN and not takes_address(held, now=now):
            raise PayoutStateError(PayoutStateError.OVER, held.kind, held.status)
        if held.requires_proof and proof is None:
            raise ConflictError(_UNPROVED)
        pair = chosen_pair(held, chain, token)
        canonical = payable_address(held.merchant_id, pair[0], address)
        if (held.chain, held.token, held.address) == (*pair, canonical):
            return _same_address(held, recipient, now)
        if by == AddressBy.API and held.address_by == AddressBy.PERSON:
            raise ConflictError(_PEOPLES)
        before = {"address": held.address, "chain": held.chain} if held.address else None
        _release_outflows(held, now)
        (held.chain, held.token), held.address = pair, canonical
        held.address_by, held.addressed_at, held.proved_at = by, now, proof.used_at if proof else None
        take_over(held, recipient, now=now)
        held.revision, held.approved_at = held.revision + 1, None
        if held.status != PayoutStatus.REQUESTED:
            _move(held, PayoutStatus.REQUESTED)
        held.save(update_fields=_ADDRESSED)
        after = {"address": canonical, "chain": held.chain, "revision": held.revision}
        if proof is not None:
            after["proof"] = proof.nonce
        _audit(held, "payout.address_set", now=now, actor=actor, before=before, after=after)
        if by == AddressBy.CLAIM:
            tell(held, News.CLAIMED, now=now)
        return held


def _same_address(held: Payout, recipient: Recipient | None, now: datetime) -> Payout:
    """Return a locked payout to which its own address was given again, with what its chain says of that now. Raises InvalidRequestError."""
    if recipient is None:
        return held
    take_over(held, recipient, now=now)
    learn(held, recipient, now=now)
    return locked_payout(held)


def cancel_payout(payout: Payout, *, now: datetime, actor: Actor = SYSTEM, why: str = "") -> Payout:
    """Cancel a payout that was not handed out yet, and free what it reserved; one that is cancelled already is returned.

    Raises ConflictError (state_conflict).
    """
    with following_what_fits([payout], now=now):
        held = locked_payout(payout)
        if held.status == PayoutStatus.CANCELLED:
            return held
        if held.status not in UNSENT:
            raise PayoutStateError(PayoutStateError.UNCANCELLABLE, held.kind, held.status)
        before = {"status": str(held.status)}
        _release_outflows(held, now)
        _end(held, PayoutStatus.CANCELLED, now)
        _audit(held, "payout.cancelled", now=now, actor=actor, before=before, after={"status": "cancelled", "why": why})
        tell(held, News.ENDED, now=now)
        return held


@transaction.atomic
def conclude_payout(
    payout: Payout, movement: WatchedMovement, *, now: datetime, exception: PayoutException = PayoutException.NONE
) -> Payout:
    """Call a payout paid by a final outflow, and count its sources as sent back; return it as it is then.

    Of a smaller outflow, which a person accepted as `wrong_amount`, the sources count as far as it goes, and the rest is free again. The
    caller publishes its event.
    Raises ConflictError where the payout is neither approved nor sending, the movement is not final, or it is another merchant's.
    """
    held = locked_payout(payout)
    seen = WatchedMovement.objects.select_for_update(of=("self",), no_key=True).get(pk=movement.pk)
    if seen.state != TransferState.CONFIRMED or (seen.merchant_id, seen.mode) != (held.merchant_id, held.mode):
        raise ConflictError("This outflow is not final, or not yours.")
    _move(held, PayoutStatus.PAID)
    held.movement, held.paid_at, held.exception = seen, now, exception
    try:
        with transaction.atomic():
            held.save(update_fields=["status", "movement", "paid_at", "exception"])
    except IntegrityError as error:
        raise ConflictError("This outflow pays another payout.") from error
    change_returns(_sent_back(held, int(seen.units)))
    after = {"tx_hash": seen.tx_hash, "units": str(seen.units), "exception": str(exception)}
    _audit(held, "payout.paid", now=now, after=after)
    promise_paid(held, now=now)
    return held


def expire_claims(*, now: datetime) -> int:
    """Expire the payouts whose recipients gave no address in time, and free what they reserved; return how many."""
    due = Q(status=PayoutStatus.OPEN, claim_until__lte=now)
    return _each(due, lambda payout: _expire(payout, now), now=now)


def cancel_sourceless(*, now: datetime) -> int:
    """Cancel refunds, not handed out yet, whose source a reorg removed; return how many."""
    lost = Q(status__in=UNSENT, sources__transfer__state=TransferState.ORPHANED)
    why = "the network reversed the payment"
    return _each(lost, lambda payout: cancel_payout(payout, now=now, why=why), now=now)


def locked_payout(payout: Payout) -> Payout:
    """Lock a payout and return it as it is now, its merchant loaded."""
    return Payout.objects.locked().select_related("merchant").get(pk=payout.pk)


def amount_of(payout: Payout) -> Decimal:
    """Return a payout's amount in its token."""
    return from_units(int(payout.units), decimals_of(payout.chain, payout.token))


def _asked_of(payout: Payout) -> tuple[Decimal, str]:
    """Return the amount that a payout was asked for, and the currency that it was converted from; empty for its token."""
    quote = payout.quote
    return (Decimal(quote["amount"]), quote["currency"]) if quote else (amount_of(payout), "")


def _present(
    merchant: Merchant,
    mode: Mode,
    kind: PayoutKind,
    amount_in: Callable[[str, str], Decimal | None],
    terms: Terms,
    source: Source | None = None,
    *,
    currency: str = "",
) -> Requested | None:
    """Return the payout that the reference names already; `amount_in` is what is asked for in a token. Raises ConflictError if it is
    another one.
    """
    if not terms.reference:
        return None
    there = Payout.objects.select_related("merchant").of(merchant.pk, mode).filter(reference=terms.reference).first()
    if there is None:
        return None
    amount = amount_in(there.chain, there.token)
    is_amount = amount is None or (amount, currency) == _asked_of(there)
    is_same = there.kind == kind and is_amount and _goes_where(there, terms)
    if not is_same or (source is not None and not sends_back(there, source)):
        raise ConflictError(
            pgettext_noop("team", "This reference names another refund or payout."), param="reference", code="duplicate"
        )
    return Requested(there, "", is_new=False)


def _goes_where(there: Payout, terms: Terms) -> bool:
    """Return whether a payout was asked for to be paid where the terms say: what its recipient or a person changed since is no matter."""
    offered = there.choices[0]
    if (terms.chain or offered[0], terms.token or offered[1]) != (offered[0], offered[1]):
        return False
    is_first = there.revision == 1 and there.address_by in (AddressBy.API, AddressBy.PERSON)
    if not terms.address or not is_first:
        return True
    return there.address == typed_address(chain_spec(there.chain), terms.address)


def _refund_choices(newest: Pair, terms: Terms) -> list[Pair]:
    """Return what a refund may be paid in: the token that came, or any that is worth the same."""
    first = (terms.chain or newest[0], terms.token or newest[1])
    if is_usd(*newest):
        return _usd_choices([first, *terms.choices])
    if {first, *terms.choices} != {newest}:
        raise _token_unsupported("This money can only go back on its own network, in its own token.")
    return [newest]


def _usd_choices(pairs: Sequence[Pair]) -> list[Pair]:
    choices = list(dict.fromkeys(pairs))
    if len(choices) > MOST_CHOICES:
        raise InvalidRequestError(f"At most {MOST_CHOICES} choices.", param="choices")
    for chain, token in choices:
        spec = named_chain(chain)
        if not is_accepted(chain, token):
            known = ", ".join(one.symbol for one in spec.accepted_tokens)
            raise _token_unsupported(f"On {chain} token must be one of {known}.")
    return choices


def _token_unsupported(message: str) -> InvalidRequestError:
    return InvalidRequestError(message, param="token", code="token_unsupported")


def _units_of(amount: Decimal, chain: str, token: str) -> int:
    """Return an amount of a token in base units. Raises InvalidRequestError for a part of a unit, and for nothing or less."""
    if amount <= 0 or amount > MOST:
        raise InvalidRequestError(
            f"amount must be more than zero, and at most {MOST}.", param="amount", code="amount_out_of_range"
        )
    try:
        return to_units(amount, decimals_of(chain, token))
    except Inexact as error:
        values = {"token": token, "chain": chain, "decimals": decimals_of(chain, token)}
        raise InvalidRequestError(_TOO_FINE, param="amount", code="amount_invalid", values=values) from error


def _draft(
    merchant: Merchant,
    mode: Mode,
    kind: PayoutKind,
    units: int,
    choices: Sequence[Pair],
    terms: Terms,
    now: datetime,
    actor: Actor,
) -> Payout:
    """Return the row to be written, its address checked."""
    chain, token = choices[0]
    payout = Payout(
        public_id=new_id(f"po_{mode}"),
        merchant=merchant,
        mode=mode,
        kind=kind,
        status=PayoutStatus.OPEN,
        chain=chain,
        token=token,
        choices=[list(pair) for pair in choices],
        units=Decimal(units),
        requires_proof=terms.requires_proof,
        reason=terms.reason,
        reference=terms.reference,
        email=terms.email,
        metadata=terms.metadata,
        requested_by=actor.user,
        requested_key=terms.key_id,
        created_at=now,
    )
    if terms.address:
        payout.address = payable_address(merchant.pk, chain, terms.address)
        payout.status, payout.address_by = PayoutStatus.REQUESTED, terms.address_by
        payout.revision, payout.addressed_at = 1, now
        take_over(payout, terms.recipient, now=now)
    return payout


def _ask(
    draft: Payout,
    terms: Terms,
    now: datetime,
    actor: Actor,
    *,
    reserve: Callable[[Payout], None],
    source: Source | None = None,
) -> Requested:
    """Write a payout, then reserve what it sends back: payouts are locked before transfers."""
    claim = ""
    if not draft.address:
        if not SHORTEST_CLAIM <= terms.claim_for <= LONGEST_CLAIM:
            raise InvalidRequestError(
                "A claim lasts from an hour to 365 days.", param="expires_in", code="expires_in_out_of_range"
            )
        claim, draft.claim_digest = new_claim(draft.public_id)
        draft.claim_until = now + terms.claim_for
    try:
        with transaction.atomic():
            draft.save(force_insert=True)
            reserve(draft)
            _audit(draft, "payout.requested", now=now, actor=actor, after=_described(draft))
    except IntegrityError as error:
        if "payout_once_per_reference" not in str(error):
            raise
        # Somebody asked for the same a moment ago.
        mode, kind = Mode(draft.mode), PayoutKind(draft.kind)
        amount, currency = _asked_of(draft)
        there = _present(draft.merchant, mode, kind, lambda *_: amount, terms, source, currency=currency)
        if there is None:
            raise
        return there
    return Requested(draft, claim, is_new=True)


def _reserve(payout: Payout, ids: Sequence[int], now: datetime) -> None:
    """Reserve a refund's units of transfers, which are looked at again under their locks, and write the sources."""
    rests = rests_of(held_transfers(ids, now=now))
    shares = shares_of(rests, int(payout.units))
    try:
        reserve_returns(shares)
    except NothingLeftError as error:
        raise AmountNotRefundableError(refundable_amount(rests)) from error
    PayoutSource.objects.bulk_create(
        PayoutSource(payout=payout, transfer_id=pk, units=Decimal(units)) for pk, units in shares.items()
    )


def chosen_pair(payout: Payout, chain: str, token: str) -> Pair:
    """Return the one of a payout's choices that is meant. Raises InvalidRequestError."""
    if not chain:
        return (payout.chain, payout.token)
    offered = [(of, symbol) for of, symbol in payout.choices if of == chain]
    if not offered:
        known = ", ".join(dict.fromkeys(of for of, _ in payout.choices))
        raise InvalidRequestError(f"chain must be one of {known}.", param="chain", code="chain_unsupported")
    symbol = token or (payout.token if (chain, payout.token) in offered else offered[0][1])
    if (chain, symbol) not in offered:
        raise _token_unsupported(f"On {chain} token must be one of {', '.join(of for _, of in offered)}.")
    return (chain, symbol)


def _move(payout: Payout, status: PayoutStatus) -> None:
    """Set a locked payout's status. Raises ConflictError where the table of moves does not allow it."""
    if status not in MOVES[PayoutStatus(payout.status)]:
        raise PayoutStateError(PayoutStateError.ELSEWHERE, payout.kind, payout.status)
    payout.status = status


def _release_outflows(payout: Payout, now: datetime) -> None:
    """Have outflows followed again that waited for an approval, which does not come: one may send an earlier payout twice.

    Raises SeemsPaidError if the payout waits for its outflow, and one fits that is not followed yet.
    """
    if payout.approved_at is not None and fitting_outflows(payout):
        raise SeemsPaidError(_SEEMS_PAID, values={"kind": PayoutKind(payout.kind)})
    if payout.status == PayoutStatus.REQUESTED:
        queue_movements(fitting_outflows(payout), now=now)


def _end(payout: Payout, status: PayoutStatus, now: datetime) -> None:
    """End a locked payout unpaid, and free what it reserved."""
    _move(payout, status)
    payout.ended_at = now
    payout.save(update_fields=["status", "ended_at"])
    change_returns([ReturnChange(one.transfer_id, reserved=-int(one.units)) for one in payout.sources.all()])


def _sent_back(payout: Payout, units: int) -> list[ReturnChange]:
    """Return how an outflow of so many units changes what is reserved and returned of a payout's sources."""
    sent = units if payout.exception == PayoutException.WRONG_AMOUNT else int(payout.units)
    return [
        ReturnChange(source.transfer_id, reserved=part - int(source.units), returned=part)
        for source, part in parts_of(payout, sent)
    ]


def _each(due: Q, end: Callable[[Payout], Any], *, now: datetime) -> int:
    """End each payout that is due, each in a transaction of its own; return how many ended."""
    ended = 0
    for pk in list(Payout.objects.filter(due).order_by("pk").values_list("pk", flat=True).distinct()[:_AT_ONCE]):
        payout = Payout.objects.filter(pk=pk)
        try:
            with following_what_fits(payout, now=now):
                found = payout.select_for_update(of=("self",), no_key=True, skip_locked=True).first()
                # Somebody else has it in hand, or moved it meanwhile.
                if found is None or not Payout.objects.filter(due, pk=pk).exists():
                    continue
                end(found)
                ended += 1
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            log.exception("payout set aside", payout=pk)
    return ended


def _expire(payout: Payout, now: datetime) -> None:
    _end(payout, PayoutStatus.EXPIRED, now)
    _audit(payout, "payout.expired", now=now, after={"status": "expired"})
    tell(payout, News.ENDED, now=now)


def _described(payout: Payout) -> dict[str, Any]:
    """Return what the audit log keeps of a new payout."""
    return {
        "kind": str(payout.kind),
        "mode": str(payout.mode),
        "units": str(payout.units),
        "token": payout.token,
        "chain": payout.chain,
        "address": payout.address,
        "reference": payout.reference,
        "requires_payer_proof": payout.requires_proof,
    }


def _audit(
    payout: Payout,
    action: str,
    *,
    now: datetime,
    actor: Actor = SYSTEM,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    record(payout.merchant, action=action, actor=actor, object_id=payout.public_id, before=before, after=after, now=now)
