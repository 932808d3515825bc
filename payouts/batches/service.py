"""Batches: payouts of one chain and token that one wallet pays together, and what becomes of a cancelled one.

A payout is in one batch at most. Nothing here sends money, and nothing here calls a payout paid.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.text import format_lazy
from django.utils.translation import pgettext_lazy

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import Mode
from accounts.team.service import mail_owners
from gateway.core.api.errors import ConflictError, InvalidRequestError, UnavailableError
from gateway.core.ids import new_id
from gateway.core.money import from_units
from gateway.core.texts import pgettext_noop
from payouts.approvals.service import recheck_approval
from payouts.batches.authorizations import domain_of, end_of, frozen
from payouts.batches.endings import is_over, read_until, wait_of
from payouts.batches.instructions import PayingOrder, PayoutLine, order_of, read_line
from payouts.errors import SeemsPaidError
from payouts.following.service import EXPECTED_FOR
from payouts.lifecycle.recipients import LIST_SECONDS, ask_again
from payouts.lifecycle.sources import sourceless
from payouts.models import Payout, PayoutBatch, PayoutRequest
from payouts.outflows.lost_outflows import following_what_fits, seem_paid, unread_since
from payouts.states import BY_CALLS, SHOWN_DIGITS, BatchStatus, Method, PayoutStatus
from payouts.testmode import plan_outflows
from wallets.chains.base import ChainError
from wallets.chains.family import TokenDomain
from wallets.models import WatchedWallet
from wallets.networks import chain_spec
from wallets.watched.service import expect_payouts, watch_wallet

_UNREAD: Final = pgettext_noop(
    "team",
    "A restore from backup lost what left this wallet since {since:%Y-%m-%d %H:%M} UTC. It is read from the network again: try "
    "later, or pay from a wallet that was watched before.",
)
_GONE: Final = pgettext_noop(
    "team", "The network took back a payment that one of these refunds returns. Reload the list in a minute."
)
_DOUBTED: Final = pgettext_noop(
    "team",
    "A payment that one of these refunds returns may be lost: its network was stopped. Wait until it is read again.",
)
_TAKEN: Final = pgettext_noop(
    "team", "Some of these payouts are no longer approved, or are being paid. Reload the list."
)
_WARNED: Final = pgettext_noop(
    "team",
    "The network says something about some of these addresses that no approver has seen. Read it, and approve them again.",
)
_TOO_MANY: Final = pgettext_noop("team", "Choose from 1 to {most} payouts.")
_SILENT: Final = pgettext_noop("team", "{network} does not answer; try again in a moment.")
_UNASKABLE: Final = pgettext_noop("team", "Wallets of {network} cannot be asked like that.")
_UNSEEN: Final = pgettext_noop("team", "Nobody would see it paid: {network} is not read.")
# What the trigger `payout_of_one_batch` says.
_ONE_BATCH: Final = "is in a batch"
MOST_IN_A_BATCH: Final = 500


class _UnreadError(ConflictError):
    """A restore lost what left the paying wallet, and that was not read again."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A batch to be made: public ids of payouts, the paying wallet's address, and how it pays."""

    payouts: Sequence[str]
    wallet: str
    method: Method


def batch_order(batch: PayoutBatch) -> PayingOrder:
    """Return what a batch asks its wallet to pay, as it was frozen."""
    stored = batch.requests.values_list("payout__public_id", "raw")
    lines = [read_line(payout_id, bytes(raw)) for payout_id, raw in stored]
    return order_of(batch.public_id, chain_spec(batch.chain), batch.token, lines)


def make_batch(merchant: Merchant, mode: Mode, wanted: Wanted, *, actor: Actor, now: datetime) -> PayoutBatch:
    """Freeze approved payouts into a batch, watch the wallet that pays them, and tell owners.

    Chains are asked first what addresses are of which they said nothing until then: hold no transaction. Raises InvalidRequestError for
    what no batch can be, and ConflictError (state_conflict) if a payout is not approved, is in another batch or seems paid, the payment
    that it returns is gone or in doubt, its chain warns of what no approver has seen, or is not read, so that nobody would see it paid,
    or what left the wallet is not known: a restore lost it, and the chain was not read again. UnavailableError if a node must say how
    its token is signed for, and none does.
    """
    if not 0 < len(set(wanted.payouts)) <= MOST_IN_A_BATCH:
        raise InvalidRequestError(_TOO_MANY, param="payouts", values={"most": MOST_IN_A_BATCH})
    chosen = list(Payout.objects.of(merchant.pk, mode).filter(public_id__in=wanted.payouts).order_by("pk"))
    if len(chosen) != len(set(wanted.payouts)):
        raise InvalidRequestError(pgettext_noop("team", "Some of these payouts do not exist."), param="payouts")
    domain = _domain(chosen[0]) if wanted.method == Method.AUTHORIZATION else None
    if ask_again(chosen, seconds=LIST_SECONDS, now=now):
        raise ConflictError(_WARNED)
    # In transactions of their own: a void approval stays void, whatever becomes of the batch.
    for payout in chosen:
        recheck_approval(payout, now=now)
    try:
        with following_what_fits(chosen, now=now):
            return _make(chosen, wanted, domain, actor=actor, now=now)
    except _UnreadError:
        # Watched all the same, or its history would never be read.
        watch_wallet(merchant, mode=mode, chain=chosen[0].chain, address=wanted.wallet, actor=actor, now=now)
        raise
    except IntegrityError as error:
        # What the locks prevent already: another batch took a payout between the look at it and this.
        if _ONE_BATCH not in str(error):
            raise
        raise ConflictError(_TAKEN) from error


def _domain(payout: Payout) -> TokenDomain:
    """Return how the payout's token is signed for. Raises InvalidRequestError, UnavailableError."""
    spec = chain_spec(payout.chain)
    try:
        domain = domain_of(spec, payout.token)
    except ChainError as error:
        raise UnavailableError(_SILENT, values={"network": spec.title}) from error
    if domain is None:
        raise InvalidRequestError(_UNASKABLE, param="method", values={"network": spec.title})
    return domain


def _make(
    chosen: Sequence[Payout], wanted: Wanted, domain: TokenDomain | None, *, actor: Actor, now: datetime
) -> PayoutBatch:
    """Make the batch in the caller's transaction, which locks the merchant, then the payouts."""
    merchant, mode, chain = chosen[0].merchant, Mode(chosen[0].mode), chosen[0].chain
    # Before the payouts: it locks the merchant.
    wallet, _ = watch_wallet(merchant, mode=mode, chain=chain, address=wanted.wallet, actor=actor, now=now)
    payouts = list(Payout.objects.filter(pk__in=[payout.pk for payout in chosen]).locked())
    _refuse(payouts, wanted.method, wallet)
    refuse_sourceless(payouts)
    _refuse_paid(payouts, wallet, now)
    batch = _write(payouts, wallet, wanted.method, domain, actor=actor, now=now)
    expect_payouts([wallet.pk], until=now + EXPECTED_FOR)
    if mode == Mode.TEST:
        plan_outflows(payouts, wallet, now=now)
    after = {
        "payouts": len(payouts),
        "amount": _amount(batch),
        "token": batch.token,
        "chain": batch.chain,
        "from": wallet.address,
        "method": batch.method,
        "digest": batch.digest.hex(),
    }
    record(merchant, action="payout_batch.made", actor=actor, object_id=batch.public_id, after=after, now=now)
    _tell(batch, actor=actor, now=now)
    return batch


@transaction.atomic
def cancel_batch(batch: PayoutBatch, *, actor: Actor, now: datetime) -> PayoutBatch:
    """Ask for a batch's payouts back. They stay locked until what was handed out can, or should, no longer be paid.

    Raises ConflictError (state_conflict) if the batch is not open.
    """
    list(batch.payouts.locked())
    locked = PayoutBatch.objects.select_for_update(no_key=True).get(pk=batch.pk)
    if locked.status != BatchStatus.OPEN:
        raise ConflictError(pgettext_noop("team", "This batch is already cancelled or paid."), code="state_conflict")
    cooling_until = wait_of(locked, now=now)
    locked.status, locked.cancelled_at, locked.cooling_until = BatchStatus.CANCELLED, now, cooling_until
    locked.save(update_fields=["status", "cancelled_at", "cooling_until"])
    record(locked.merchant, action="payout_batch.cancelled", actor=actor, object_id=locked.public_id, now=now)
    return locked


def close_batches(*, now: datetime) -> int:
    """Close batches whose payouts are all paid, cancelled ones that cooled down, and ended ones; return how many.

    Payouts of those without an outflow are approved again, once their chain was read past the end or the wait. Where what was
    handed out has an end, the chain's final head must have passed it, too.
    """
    unclosed = PayoutBatch.objects.exclude(status=BatchStatus.CLOSED).order_by("pk")
    paid = list(unclosed.exclude(payouts__status=PayoutStatus.SENDING))
    over = Q(status=BatchStatus.CANCELLED, cooling_until__lte=now) | Q(status=BatchStatus.OPEN, valid_until__lte=now)
    waited = unclosed.filter(over, payouts__status=PayoutStatus.SENDING)
    read = read_until(now=now)
    free = [batch for batch in waited.distinct() if is_over(batch, read.get(batch.chain))]
    closed = sum(_close(batch.pk, frees=False, now=now) for batch in paid)
    return closed + sum(_close(batch.pk, frees=True, now=now) for batch in free)


@transaction.atomic
def _close(batch_id: int, *, frees: bool, now: datetime) -> bool:
    """Close a batch unless an outflow of it is on its way; return whether it is closed now.

    With `frees`, its payouts without an outflow are approved again first.
    """
    payouts = list(Payout.objects.filter(batch=batch_id).locked())
    batch = PayoutBatch.objects.select_for_update(no_key=True).get(pk=batch_id)
    sending = [payout for payout in payouts if payout.status == PayoutStatus.SENDING]
    if frees:
        for payout in sending:
            if payout.movement_id is None:
                payout.status, payout.batch = PayoutStatus.APPROVED, None
                payout.save(update_fields=["status", "batch"])
        sending = [payout for payout in sending if payout.status == PayoutStatus.SENDING]
    if sending or batch.status == BatchStatus.CLOSED:
        return False
    batch.status, batch.closed_at = BatchStatus.CLOSED, now
    batch.save(update_fields=["status", "closed_at"])
    return True


def _refuse(payouts: Sequence[Payout], method: Method, wallet: WatchedWallet) -> None:
    if len({(payout.chain, payout.token) for payout in payouts}) > 1:
        raise InvalidRequestError(pgettext_noop("team", "A batch has one network and one token."), param="payouts")
    if any(payout.status != PayoutStatus.APPROVED or payout.batch_id for payout in payouts):
        raise ConflictError(_TAKEN)
    if any(payout.address == wallet.address for payout in payouts):
        raise InvalidRequestError(
            pgettext_noop("team", "A wallet cannot pay itself. Choose another paying wallet."), param="wallet"
        )
    spec = chain_spec(wallet.chain)
    if wallet.mode == Mode.LIVE and not spec.rpc_urls:
        raise ConflictError(_UNSEEN, code="state_conflict", values={"network": spec.title})
    is_callable = _order("", wallet.chain, payouts[0].token, payouts).takes_calls
    is_unknown = method == Method.TRANSACTION and not spec.family.prepares_payments(spec)
    if (method in BY_CALLS and not is_callable) or is_unknown:
        raise InvalidRequestError(_UNASKABLE, param="method", values={"network": spec.title})
    if method == Method.TRANSACTION and not spec.family.can_sign(wallet.address):
        raise InvalidRequestError(
            pgettext_noop("team", "This address has no key that signs. Choose another paying wallet."), param="wallet"
        )


def refuse_sourceless(payouts: Iterable[Payout]) -> None:
    """Refuse refunds whose payment a reorg removed, or that a halted chain may have lost. Raises ConflictError."""
    gone, in_doubt = sourceless([payout.pk for payout in payouts])
    if gone:
        raise ConflictError(_GONE)
    if in_doubt:
        raise ConflictError(_DOUBTED)


def _refuse_paid(payouts: Sequence[Payout], wallet: WatchedWallet, now: datetime) -> None:
    """Refuse what may be paid already: an outflow fits that is not followed yet, or a restore lost what left the wallet."""
    if since := unread_since(wallet, now=now):
        raise _UnreadError(_UNREAD, values={"since": since})
    if seem_paid(payouts):
        raise SeemsPaidError(
            pgettext_noop("team", "Your wallet seems to have paid some of these already. Reload the list in a moment.")
        )


def _write(
    payouts: Sequence[Payout],
    wallet: WatchedWallet,
    method: Method,
    domain: TokenDomain | None,
    *,
    actor: Actor,
    now: datetime,
) -> PayoutBatch:
    public_id = new_id("pob_test" if wallet.mode == Mode.TEST else "pob_live")
    order = _order(public_id, wallet.chain, payouts[0].token, payouts)
    batch = PayoutBatch.objects.create(
        public_id=public_id,
        merchant=wallet.merchant,
        mode=wallet.mode,
        chain=wallet.chain,
        token=payouts[0].token,
        wallet=wallet,
        method=method,
        digest=bytes.fromhex(order.digest()),
        valid_until=end_of(now) if domain is not None else None,
        created_by=actor.person,
        created_at=now,
    )
    lines = {line.payout_id: line for line in order.lines}
    PayoutRequest.objects.bulk_create(
        PayoutRequest(
            payout=payout,
            batch=batch,
            raw=_raw(payout, lines[payout.public_id], domain, batch.valid_until),
            valid_until=batch.valid_until,
            created_at=now,
        )
        for payout in payouts
    )
    for payout in payouts:
        payout.status, payout.batch = PayoutStatus.SENDING, batch
        payout.save(update_fields=["status", "batch"])
    return batch


def _raw(payout: Payout, line: PayoutLine, domain: TokenDomain | None, valid_until: datetime | None) -> bytes:
    if domain is None or valid_until is None:
        return line.raw()
    return frozen(payout, line, domain, valid_until=valid_until)


def _order(batch_id: str, chain: str, token: str, payouts: Iterable[Payout]) -> PayingOrder:
    lines = [PayoutLine(payout.public_id, payout.address, int(payout.units)) for payout in payouts]
    return order_of(batch_id, chain_spec(chain), token, lines)


def _amount(batch: PayoutBatch) -> str:
    order = batch_order(batch)
    return f"{from_units(order.units, order.token.decimals):f}"


_MAIL: Final = pgettext_lazy(
    "team",
    """\
{who} made a batch of {count} payouts: {amount} {token} on {chain}, from {wallet}.

Its digest begins with {digest}. The page and the Safe file show the same.

If you did not expect this, do not sign it, and look at it now:
{url}""",
)


def _tell(batch: PayoutBatch, *, actor: Actor, now: datetime) -> None:
    amount, title = _amount(batch), chain_spec(batch.chain).title
    mail_owners(
        batch.merchant_id,
        key=f"payout-batch:{batch.public_id}",
        subject=format_lazy(
            pgettext_lazy("team", "{merchant} is about to pay {amount} {token} on {chain}"),
            merchant=batch.merchant.name,
            amount=amount,
            token=batch.token,
            chain=title,
        ),
        text=format_lazy(
            _MAIL,
            who=actor.name,
            count=batch.requests.count(),
            amount=amount,
            token=batch.token,
            chain=title,
            wallet=batch.wallet.address,
            digest=batch.digest.hex()[:SHOWN_DIGITS],
            url=f"{settings.BASE_URL}/dashboard/",
        ),
        now=now,
    )
