"""Changes of receiving wallets: asked for, waited for, cancelled or carried out.

Whoever sets, asks, cancels or applies holds the merchant's row meanwhile, so that each change ends one way.
"""

from datetime import datetime, timedelta

import structlog
from django.db import IntegrityError, transaction

from accounts.models import Membership, Merchant, User
from accounts.services import record
from accounts.states import Role
from gateway.core.errors import ConflictError, GatewayError
from wallets.models import ReceivingWallet, WalletChange
from wallets.services.letters import (
    tell_applied,
    tell_failed,
    tell_first,
    tell_requested,
)
from wallets.services.receiving import (
    refuse_anothers,
    set_receiving_wallet,
    usable_address,
)

log = structlog.get_logger(__name__)

_WAITS_ALREADY = (
    "A change waits on this chain already. Cancel it before you ask for another."
)
_NO_OWNER = "Whoever asked for it is not an owner of the merchant any more."


@transaction.atomic
def request_wallet(
    merchant: Merchant,
    *,
    chain: str,
    address: str,
    actor: User,
    now: datetime,
    client: str | None = None,
) -> ReceivingWallet | WalletChange:
    """Receive at `address` on a chain: at once where there is no wallet yet, else once the merchant's wait is over.

    All owners are told. `client` is the network address of whoever asks. Raises InvalidRequestError as
    `set_receiving_wallet` does, and ConflictError where the address is another merchant's, is the present one, or a change
    waits already.
    """
    canonical = usable_address(chain, address)
    merchant = _locked(merchant.pk)
    wallets = ReceivingWallet.objects.of_checkouts().filter(
        merchant=merchant, chain=chain
    )
    current = wallets.filter(retired_at=None).first()
    if current is None:
        return _set_first(merchant, chain, canonical, actor, now, client)
    if current.address == canonical:
        raise ConflictError("This is the wallet that you receive at already.")
    refuse_anothers(merchant, chain=chain, address=canonical, now=now)
    change = _create(merchant, chain, canonical, actor, now)
    _audit(change, "requested", current.address, actor, now, client)
    tell_requested(change, before=current.address, now=now)
    if change.effective_at <= now:
        return _apply_locked(change, now)
    return change


@transaction.atomic
def cancel_change(
    change: WalletChange, *, actor: User, now: datetime, client: str | None = None
) -> WalletChange:
    """Take a change back that still waits. Raises ConflictError where it does not."""
    _locked(change.merchant_id)
    change = _reread(change.pk)
    if not change.is_open:
        raise ConflictError("This change does not wait any more.")
    change.cancelled_at = now
    change.save(update_fields=["cancelled_at"])
    record(
        change.merchant,
        action="receiving_wallet.change_cancelled",
        actor=actor,
        object_id=change.chain,
        before={"address": change.address},
        address=client,
        now=now,
    )
    return change


def apply_wallet_changes(*, now: datetime) -> int:
    """Carry out the changes whose time has come; return how many. What is refused now is told, and ends."""
    due = WalletChange.objects.filter(WalletChange.OPEN, effective_at__lte=now)
    found = list(due.order_by("effective_at", "pk").values_list("pk", "merchant_id"))
    return sum(_apply_safely(pk, merchant_id, now) for pk, merchant_id in found)


def _apply_safely(change_id: int, merchant_id: int, now: datetime) -> bool:
    try:
        return _apply(change_id, merchant_id, now)
    except Exception:
        # One that cannot be carried out must not stand in the way of the others.
        log.exception("a wallet change could not be applied", change=change_id)
        return False


@transaction.atomic
def _apply(change_id: int, merchant_id: int, now: datetime) -> bool:
    _locked(merchant_id)
    change = _reread(change_id)
    if not change.is_open:
        return False
    return _apply_locked(change, now).applied_at is not None


def _apply_locked(change: WalletChange, now: datetime) -> WalletChange:
    failure = _attempt(change, now)
    if failure:
        change.failed_at, change.failure = now, failure[:200]
    else:
        change.applied_at = now
    change.save(update_fields=["failed_at", "failure", "applied_at"])
    if failure:
        _audit_failure(change, now)
        tell_failed(change, now=now)
    else:
        tell_applied(change, now=now)
    return change


def _attempt(change: WalletChange, now: datetime) -> str:
    """Set the wallet; return in words why that cannot be, or nothing."""
    asker = change.requested_by
    seats = Membership.objects.filter(merchant=change.merchant_id, user=asker)
    if not asker.is_active or not seats.filter(role=Role.OWNER).exists():
        return _NO_OWNER
    try:
        # What is refused half way leaves nothing behind.
        with transaction.atomic():
            set_receiving_wallet(
                change.merchant,
                chain=change.chain,
                address=change.address,
                actor=asker,
                now=now,
            )
    except GatewayError as error:
        return error.message
    return ""


def _set_first(
    merchant: Merchant,
    chain: str,
    address: str,
    actor: User,
    now: datetime,
    client: str | None,
) -> ReceivingWallet:
    wallet = set_receiving_wallet(
        merchant, chain=chain, address=address, actor=actor, now=now, client=client
    )
    tell_first(wallet, actor=actor, now=now)
    return wallet


def _create(
    merchant: Merchant, chain: str, address: str, actor: User, now: datetime
) -> WalletChange:
    try:
        with transaction.atomic():
            return WalletChange.objects.create(
                merchant=merchant,
                chain=chain,
                address=address,
                requested_by=actor,
                requested_at=now,
                effective_at=now + timedelta(hours=merchant.wallet_change_hours),
            )
    except IntegrityError as error:
        raise ConflictError(_WAITS_ALREADY) from error


def _locked(merchant_id: int) -> Merchant:
    return Merchant.objects.select_for_update(no_key=True).get(pk=merchant_id)


def _reread(change_id: int) -> WalletChange:
    changes = WalletChange.objects.select_related("merchant", "requested_by")
    return changes.get(pk=change_id)


def _audit(
    change: WalletChange,
    what: str,
    before: str,
    actor: User,
    now: datetime,
    client: str | None,
) -> None:
    record(
        change.merchant,
        action=f"receiving_wallet.change_{what}",
        actor=actor,
        object_id=change.chain,
        before={"address": before},
        after={
            "address": change.address,
            "effective_at": change.effective_at.isoformat(timespec="seconds"),
        },
        address=client,
        now=now,
    )


def _audit_failure(change: WalletChange, now: datetime) -> None:
    record(
        change.merchant,
        action="receiving_wallet.change_failed",
        object_id=change.chain,
        after={"address": change.address, "failure": change.failure},
        now=now,
    )
