"""Claims of an address on exact-amount chains: only one merchant may receive there.

An unproven claim blocks others. A proof of the key outweighs it, and the latest proof outweighs earlier ones. Refusals here
never reveal who else uses an address.
"""

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_noop

from accounts.audit.service import record
from accounts.models import Merchant
from gateway.core.api.errors import ConflictError
from wallets import selectors
from wallets.models import ReceivingWallet, WalletChange
from wallets.networks import chain_spec
from wallets.receiving.mails import tell_failed, tell_taken_over
from wallets.states import ClaimKind

BUYERS_MAY_STILL_PAY: Final = timedelta(days=31)
"""How long an address still belongs to its merchant after it was replaced, unless another merchant proves it.

A checkout lives a day at most, its amount cools for three days, and an exchange may be slow.
"""

MACHINES_MAY_STILL_PAY: Final = timedelta(days=1)
"""How long a merchant with a proof waits for payments of another merchant's machines."""

RELEASE_AFTER: Final = timedelta(minutes=10)
"""How long after a wallet's retirement a process with an old cache may still offer it to a new checkout."""

_OWN: Final = {
    ClaimKind.CHECKOUT: gettext_noop("Machines pay you at this address, or did lately. Use another wallet."),
    ClaimKind.X402: gettext_noop("This address receives something else. Machines need a wallet of their own."),
}
_LATER_PROOF: Final = "Somebody proved later that they hold this wallet's key."


class ProofRequiredError(ConflictError):
    """The address needs a message signed by its key. The answer is the same for every reason."""

    code = "proof_required"

    def __init__(self) -> None:
        super().__init__(gettext_noop("Prove that you hold this wallet's key: sign a message with it."))


def refuse_unproven(merchant: Merchant, *, chain: str, address: str, now: datetime) -> None:
    """Raise ProofRequiredError if an address needs a proof.

    That is if another merchant receives there, did within 31 days, or has a proven change to it pending.
    """
    if not chain_spec(chain).exact_amount_required:
        return
    others = _of_others(merchant, chain, address).filter(_held(now))
    proven = WalletChange.objects.filter(WalletChange.OPEN, chain=chain, address=address, proof__isnull=False)
    if others.exists() or proven.exclude(merchant=merchant).exists():
        raise ProofRequiredError


def refuse_unasked(chain: str) -> None:
    """Raise ProofRequiredError if the operator requires proofs of all wallets on a chain."""
    if settings.REQUIRE_WALLET_PROOF and chain_spec(chain).exact_amount_required:
        raise ProofRequiredError


def refuse_own(merchant: Merchant, purpose: ClaimKind, *, chain: str, address: str, now: datetime) -> None:
    """Raise ConflictError (duplicate) if the merchant uses an address for the other purpose, did recently, or is about to."""
    if not chain_spec(chain).exact_amount_required:
        return
    other = ~Q(purpose=purpose) & Q(merchant=merchant, chain=chain, address=address)
    wallets = ReceivingWallet.objects.filter(_held(now), other)
    changes = WalletChange.objects.filter(WalletChange.OPEN, other)
    if wallets.exists() or changes.exists():
        raise ConflictError(_OWN[purpose], code="duplicate")


def is_awaited(merchant: Merchant, *, chain: str, address: str, now: datetime) -> bool:
    """Whether payments to other merchants may still reach an address, so that even a merchant with a proof waits."""
    if not chain_spec(chain).exact_amount_required:
        return False
    return _of_others(merchant, chain, address).filter(_under_way(now)).exists()


def take_over(merchant: Merchant, *, chain: str, address: str, now: datetime) -> None:
    """Take a proven address from all other merchants, in the caller's transaction, and mail their owners.

    Their new checkouts no longer use it; payments already under way still belong to them.
    """
    if chain_spec(chain).exact_amount_required:
        _end_earlier_proofs(merchant, chain, address, now)
    # After the changes: one that was just applied is a wallet by now.
    retire_others(merchant, chain=chain, address=address, now=now)


def retire_others(merchant: Merchant, *, chain: str, address: str, now: datetime) -> None:
    """Retire others' unproven claims of a proven address, and mail their owners. Ends no proof of others."""
    if not chain_spec(chain).exact_amount_required:
        return
    present = _of_others(merchant, chain, address).filter(retired_at=None)
    for wallet in present.select_for_update(of=("self",)).select_related("merchant"):
        wallet.retired_at = wallet.taken_over_at = now
        wallet.save(update_fields=["retired_at", "taken_over_at"])
        record(
            wallet.merchant, action="receiving_wallet.taken_over", object_id=chain, before={"address": address}, now=now
        )
        tell_taken_over(wallet, now=now)
    transaction.on_commit(selectors.forget)


def _end_earlier_proofs(merchant: Merchant, chain: str, address: str, now: datetime) -> None:
    earlier = WalletChange.objects.filter(WalletChange.OPEN, chain=chain, address=address, proof__isnull=False).exclude(
        merchant=merchant
    )
    for change in earlier.select_for_update(of=("self",)).select_related("merchant", "requested_by"):
        fail_change(change, _LATER_PROOF, now=now)


def fail_change(change: WalletChange, failure: str, *, now: datetime) -> None:
    """End a pending change that cannot be applied; its owners get the reason."""
    change.failed_at, change.failure = now, failure[:200]
    change.save(update_fields=["failed_at", "failure"])
    record(
        change.merchant,
        action="receiving_wallet.change_failed",
        object_id=change.chain,
        after={"address": change.address, "failure": change.failure},
        now=now,
    )
    tell_failed(change, now=now)


def claims_to_release(*, now: datetime) -> list[ReceivingWallet]:
    """Return the retired wallets for checkouts that another merchant with a proof waits for."""
    waiting = WalletChange.objects.filter(
        ~Q(merchant=OuterRef("merchant")),
        WalletChange.OPEN,
        chain=OuterRef("chain"),
        address=OuterRef("address"),
        proof__isnull=False,
    )
    retired = ReceivingWallet.objects.of_checkouts().filter(
        _under_way(now), Exists(waiting), retired_at__lte=now - RELEASE_AFTER
    )
    return list(retired.order_by("pk"))


def release_claim(wallet: ReceivingWallet, *, now: datetime) -> bool:
    """Mark a retired wallet as released by its merchant; return whether that was new."""
    rows = ReceivingWallet.objects.filter(pk=wallet.pk, retired_at__isnull=False, released_at=None)
    return bool(rows.update(released_at=now))


def _of_others(merchant: Merchant, chain: str, address: str) -> QuerySet[ReceivingWallet]:
    rows = ReceivingWallet.objects.filter(chain=chain, address=address)
    return rows.exclude(merchant=merchant)


def _held(now: datetime) -> Q:
    return Q(retired_at=None) | Q(retired_at__gt=now - BUYERS_MAY_STILL_PAY)


def _under_way(now: datetime) -> Q:
    """Return wallets that may still receive payments of their merchants, as far as this app knows."""
    buyers = Q(purpose=ClaimKind.CHECKOUT, released_at=None, retired_at__gt=now - BUYERS_MAY_STILL_PAY)
    machines = Q(purpose=ClaimKind.X402, retired_at__gt=now - MACHINES_MAY_STILL_PAY)
    return Q(retired_at=None) | buyers | machines
