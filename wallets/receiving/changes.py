"""Changes of receiving wallets: request, wait, cancel, apply.

Each of these locks the merchant's row, so that a change ends in exactly one way.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_noop

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Membership, Merchant
from accounts.states import Role
from gateway.core.api.errors import ConflictError, GatewayError, InvalidRequestError, UnavailableError
from wallets.models import ReceivingWallet, WalletChange, WalletProof
from wallets.networks import chain_spec
from wallets.receiving.claims import (
    fail_change,
    is_awaited,
    refuse_own,
    refuse_unasked,
    refuse_unproven,
    retire_others,
    take_over,
)
from wallets.receiving.inspection import DoubtfulError, InspectionRound, in_turn
from wallets.receiving.mails import tell_applied, tell_first, tell_requested
from wallets.receiving.service import machine_address, set_machine_wallet, set_receiving_wallet, usable_address
from wallets.states import ClaimKind

log = structlog.get_logger(__name__)

_WAITS_ALREADY = gettext_noop("A change waits on this chain already. Cancel it before you ask for another.")
_ANOTHER_PROOF = gettext_noop("Another proof of this wallet came at the same moment. Sign again to be the latest.")
_SET: Final[dict[ClaimKind, Callable[..., ReceivingWallet]]] = {
    ClaimKind.CHECKOUT: set_receiving_wallet,
    ClaimKind.X402: set_machine_wallet,
}
_DOUBTED_FOR: Final = timedelta(days=1)
"""How long a due change waits while its address does not answer as a wallet; then it is refused, and the owners are told."""

_NO_OWNER = "Whoever asked for it is not an owner of the merchant any more."


@dataclass(frozen=True, slots=True)
class _Request:
    """A requested wallet: `address` is canonical, and `proof` is verified."""

    merchant: Merchant
    purpose: ClaimKind
    chain: str
    address: str
    actor: Actor
    now: datetime
    proof: WalletProof | None

    @property
    def place(self) -> dict[str, Any]:
        """Return the arguments that name the address in the rules of claims."""
        return {"chain": self.chain, "address": self.address, "now": self.now}


@transaction.atomic
def request_wallet(
    merchant: Merchant,
    *,
    chain: str,
    address: str,
    actor: Actor,
    now: datetime,
    purpose: ClaimKind = ClaimKind.CHECKOUT,
    proof: WalletProof | None = None,
) -> ReceivingWallet | WalletChange:
    """Request `address` as receiving wallet: set at once if there is none yet, else after the merchant's wait.

    A wallet for machines (`purpose`) has no wait. All owners get a mail. With
    `proof`, which `prove_wallet` has verified, the address is taken over from others, and waits until payments to it for
    them have ended. Raises InvalidRequestError as `set_receiving_wallet` and `set_machine_wallet` do, ProofRequiredError
    if the address needs a proof, and ConflictError if it is the current one, the merchant uses it for the other
    purpose, or a change is already pending.
    """
    usable = usable_address if purpose == ClaimKind.CHECKOUT else machine_address
    canonical = usable(chain, address)
    merchant = _locked(merchant.pk)
    asked = _Request(merchant, purpose, chain, canonical, actor, now, proof)
    current = _current(asked)
    if current is not None and current.address == canonical:
        raise ConflictError(gettext_noop("This is the wallet that you receive at already."))
    # Checked first: a merchant with a pending change must not be able to probe many addresses.
    if _waiting(asked).exists():
        raise ConflictError(_WAITS_ALREADY)
    _claim(asked)
    awaited = is_awaited(merchant, **asked.place)
    waits = current is not None and purpose == ClaimKind.CHECKOUT
    if not awaited and not waits:
        return _set_at_once(asked)
    before = current.address if current else None
    change = _create(asked, hours=merchant.wallet_change_hours if waits else 0)
    _audit(change, "requested", before, actor, now)
    tell_requested(change, before=before, is_awaited=awaited, now=now)
    if change.effective_at <= now:
        return _apply_locked(change, now)
    return change


def _current(asked: _Request) -> ReceivingWallet | None:
    return ReceivingWallet.objects.filter(
        merchant=asked.merchant, purpose=asked.purpose, chain=asked.chain, retired_at=None
    ).first()


def _claim(asked: _Request) -> None:
    """Take over a proven address, or raise ProofRequiredError if a proof is needed."""
    refuse_own(asked.merchant, asked.purpose, **asked.place)
    if asked.proof is not None:
        take_over(asked.merchant, **asked.place)
        return
    refuse_unasked(asked.chain)
    refuse_unproven(asked.merchant, **asked.place)


@transaction.atomic
def cancel_change(change: WalletChange, *, actor: Actor, now: datetime) -> WalletChange:
    """Cancel a pending change. Raises ConflictError if it is not pending."""
    _locked(change.merchant_id)
    change = _reread(change.pk)
    if not change.is_open:
        raise ConflictError(gettext_noop("This change does not wait any more."))
    change.cancelled_at = now
    change.save(update_fields=["cancelled_at"])
    record(
        change.merchant,
        action="receiving_wallet.change_cancelled",
        actor=actor,
        object_id=change.chain,
        before={"address": change.address},
        now=now,
    )
    return change


def apply_wallet_changes(*, now: datetime) -> int:
    """Apply the due changes; return how many. A refused change ends, and its owners get a mail."""
    due = WalletChange.objects.filter(WalletChange.OPEN, effective_at__lte=now)
    found = list(due.order_by("effective_at", "pk").values_list("pk", "merchant_id"))
    with InspectionRound() as inspections:
        return sum(_apply_safely(pk, merchant, inspections, now) for pk, merchant in in_turn(found, now=now))


def _apply_safely(change_id: int, merchant_id: int, inspections: InspectionRound, now: datetime) -> bool:
    try:
        return _apply(change_id, merchant_id, _trap(change_id, inspections, now), now)
    except UnavailableError as error:
        # It stays pending: an address that nobody can look up is not set.
        log.warning("a due wallet waits for a node", change=change_id, error=error.message)
        return False
    except Exception:
        # A failing change must not block the others.
        log.exception("a wallet change could not be applied", change=change_id)
        return False


def _trap(change_id: int, inspections: InspectionRound, now: datetime) -> str:
    """Return why a due change's address would lose the money, or "". Asked again: a contract may be there by now.

    Raises UnavailableError, also for a contract that merely does not answer as a wallet: a node may be at fault, for a day.
    Where the chain has no node, nothing can be paid there.
    """
    change = WalletChange.objects.get(pk=change_id)
    if not chain_spec(change.chain).rpc_urls:
        return ""
    try:
        inspections.inspect(change.chain, change.address)
    except DoubtfulError as error:
        if now - change.effective_at < _DOUBTED_FOR:
            raise UnavailableError(error.message) from error
        return error.message
    except InvalidRequestError as error:
        return error.message
    return ""


@transaction.atomic
def _apply(change_id: int, merchant_id: int, trap: str, now: datetime) -> bool:
    _locked(merchant_id)
    change = _reread(change_id)
    if not change.is_open:
        return False
    if trap:
        fail_change(change, trap, now=now)
        return False
    return _apply_locked(change, now).applied_at is not None


def _apply_locked(change: WalletChange, now: datetime) -> WalletChange:
    """Apply a due change, or end it; a proven one stays while others may still be paid there."""
    if failure := _objection(change):
        fail_change(change, failure, now=now)
        return change
    if _awaits_others(change, now):
        return change
    if failure := _attempt(change, now):
        # If another merchant claimed the address meanwhile, the proof takes it from them too, and waits on.
        if not _awaits_others(change, now):
            fail_change(change, failure, now=now)
        return change
    change.applied_at = now
    change.save(update_fields=["applied_at"])
    if change.purpose == ClaimKind.CHECKOUT:
        tell_applied(change, now=now)
    return change


def _objection(change: WalletChange) -> str:
    """Return the reason why the change can never be applied, or ""."""
    asker = change.requested_by
    seats = Membership.objects.filter(merchant=change.merchant_id, user=asker)
    is_owner = asker.is_active and seats.filter(role=Role.OWNER).exists()
    return "" if is_owner else _NO_OWNER


def _awaits_others(change: WalletChange, now: datetime) -> bool:
    """Whether a proven change waits for payments to others; later claims of the address lose it."""
    if change.proof_id is None:
        return False
    # The latest proof wins, and it ended the others when it was given; so this one may not end a newer one.
    retire_others(change.merchant, chain=change.chain, address=change.address, now=now)
    return is_awaited(change.merchant, chain=change.chain, address=change.address, now=now)


def _attempt(change: WalletChange, now: datetime) -> str:
    """Set the wallet; return the reason why that is impossible, or ""."""
    try:
        # A refusal half way rolls everything back.
        with transaction.atomic():
            _SET[ClaimKind(change.purpose)](
                change.merchant,
                chain=change.chain,
                address=change.address,
                actor=Actor(change.requested_by),
                now=now,
                proof=change.proof,
            )
    except GatewayError as error:
        return error.message
    return ""


def _set_at_once(asked: _Request) -> ReceivingWallet:
    wallet = _SET[asked.purpose](asked.merchant, **asked.place, actor=asked.actor, proof=asked.proof)
    # Owners get a mail whenever a machine wallet is set.
    if asked.purpose == ClaimKind.CHECKOUT:
        tell_first(wallet, actor=asked.actor, now=asked.now)
    return wallet


def _create(asked: _Request, *, hours: int) -> WalletChange:
    try:
        with transaction.atomic():
            return WalletChange.objects.create(
                merchant=asked.merchant,
                purpose=asked.purpose,
                chain=asked.chain,
                of_one_merchant=chain_spec(asked.chain).exact_amount_required,
                address=asked.address,
                requested_by=asked.actor.person,
                requested_at=asked.now,
                effective_at=asked.now + timedelta(hours=hours),
                proof=asked.proof,
            )
    except IntegrityError as error:
        is_mine = _waiting(asked).exists()
        raise ConflictError(_WAITS_ALREADY if is_mine else _ANOTHER_PROOF) from error


def _waiting(asked: _Request) -> QuerySet[WalletChange]:
    return WalletChange.objects.filter(
        WalletChange.OPEN, merchant=asked.merchant, purpose=asked.purpose, chain=asked.chain
    )


def _locked(merchant_id: int) -> Merchant:
    return Merchant.objects.select_for_update(no_key=True).get(pk=merchant_id)


def _reread(change_id: int) -> WalletChange:
    """Read a change again, under its merchant's lock. A proven one is locked too: a later proof may end it."""
    changes = WalletChange.objects.filter(pk=change_id)
    changes.filter(proof__isnull=False).select_for_update().first()
    return changes.select_related("merchant", "requested_by", "proof").get()


def _audit(change: WalletChange, what: str, before: str | None, actor: Actor, now: datetime) -> None:
    record(
        change.merchant,
        action=f"receiving_wallet.change_{what}",
        actor=actor,
        object_id=change.chain,
        before={"address": before} if before else None,
        after={"address": change.address, "effective_at": change.effective_at.isoformat(timespec="seconds")},
        now=now,
    )
