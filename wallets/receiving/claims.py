"""Claims of an address where the amount tells payments apart: only one merchant may receive there.

A claim that was only typed blocks others. A proof of the key outweighs it, and the latest proof outweighs an earlier one. What
is refused here never says who else uses an address.
"""

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.audit.service import record
from accounts.models import Merchant
from gateway.core.api.errors import ConflictError
from wallets import selectors
from wallets.models import ReceivingWallet, WalletChange
from wallets.networks import chain_spec
from wallets.receiving.mails import (
    tell_failed,
    tell_taken_over,
)
from wallets.states import ClaimKind

BUYERS_MAY_STILL_PAY: Final = timedelta(days=31)
"""For so long after it was given up an address stays what it was, and its merchant's, unless another merchant proves it.

A checkout lives a day at most, its amount cools for three, and an exchange may take its time.
"""

MACHINES_MAY_STILL_PAY: Final = timedelta(days=1)
"""For so long somebody who proved an address waits for payments of another merchant's machines."""

RELEASE_AFTER: Final = timedelta(minutes=10)
"""Until a wallet was retired for so long, a process may not have heard of it and still offer it to a new checkout."""

_OWN: Final = {
    ClaimKind.CHECKOUT: "Machines pay you at this address, or did lately. Use another wallet.",
    ClaimKind.X402: "This address receives something else. Machines need a wallet of their own.",
}
_LATER_PROOF: Final = "Somebody proved later that they hold this wallet's key."


class ProofRequiredError(ConflictError):
    """The address takes a signed message by its key. The same answer wherever one is asked for, whatever the reason."""

    code = "proof_required"

    def __init__(self) -> None:
        super().__init__(
            "Prove that you hold this wallet's key: sign a message with it."
        )


def refuse_unproven(
    merchant: Merchant, *, chain: str, address: str, now: datetime
) -> None:
    """Raise ProofRequiredError where an address takes a proof.

    That is where another merchant receives there, did within 31 days, or waits to and proved it.
    """
    if not chain_spec(chain).exact_amount_required:
        return
    others = _of_others(merchant, chain, address).filter(_held(now))
    proven = WalletChange.objects.filter(
        WalletChange.OPEN, chain=chain, address=address, proof__isnull=False
    )
    if others.exists() or proven.exclude(merchant=merchant).exists():
        raise ProofRequiredError


def refuse_unasked(chain: str) -> None:
    """Raise ProofRequiredError where the operator wants every wallet of a chain proven."""
    if settings.REQUIRE_WALLET_PROOF and chain_spec(chain).exact_amount_required:
        raise ProofRequiredError


def refuse_own(
    merchant: Merchant, purpose: ClaimKind, *, chain: str, address: str, now: datetime
) -> None:
    """Raise ConflictError (duplicate) where the merchant uses an address for the other purpose, did lately, or waits to."""
    if not chain_spec(chain).exact_amount_required:
        return
    other = ~Q(purpose=purpose) & Q(merchant=merchant, chain=chain, address=address)
    wallets = ReceivingWallet.objects.filter(_held(now), other)
    changes = WalletChange.objects.filter(WalletChange.OPEN, other)
    if wallets.exists() or changes.exists():
        raise ConflictError(_OWN[purpose], code="duplicate")


def is_awaited(merchant: Merchant, *, chain: str, address: str, now: datetime) -> bool:
    """Whether payments to other merchants may be under way to an address, so that even who proved it waits."""
    if not chain_spec(chain).exact_amount_required:
        return False
    return _of_others(merchant, chain, address).filter(_under_way(now)).exists()


def take_over(merchant: Merchant, *, chain: str, address: str, now: datetime) -> None:
    """Take an address that a merchant has proven from all others, in the caller's transaction, and tell their owners.

    From now on it takes none of their new checkouts; what is under way to it stays theirs.
    """
    if chain_spec(chain).exact_amount_required:
        _end_earlier_proofs(merchant, chain, address, now)
    # After the changes: one that was just carried out is a wallet by now.
    retire_others(merchant, chain=chain, address=address, now=now)


def retire_others(
    merchant: Merchant, *, chain: str, address: str, now: datetime
) -> None:
    """Retire what others claim of an address that a merchant has proven, and tell their owners. Ends no proof of others."""
    if not chain_spec(chain).exact_amount_required:
        return
    present = _of_others(merchant, chain, address).filter(retired_at=None)
    for wallet in present.select_for_update(of=("self",)).select_related("merchant"):
        wallet.retired_at = wallet.taken_over_at = now
        wallet.save(update_fields=["retired_at", "taken_over_at"])
        record(
            wallet.merchant,
            action="receiving_wallet.taken_over",
            object_id=chain,
            before={"address": address},
            now=now,
        )
        tell_taken_over(wallet, now=now)
    transaction.on_commit(selectors.forget)


def _end_earlier_proofs(
    merchant: Merchant, chain: str, address: str, now: datetime
) -> None:
    earlier = WalletChange.objects.filter(
        WalletChange.OPEN, chain=chain, address=address, proof__isnull=False
    ).exclude(merchant=merchant)
    for change in earlier.select_for_update(of=("self",)).select_related(
        "merchant", "requested_by"
    ):
        fail_change(change, _LATER_PROOF, now=now)


def fail_change(change: WalletChange, failure: str, *, now: datetime) -> None:
    """End an open change that cannot be carried out; its owners are told why."""
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
    """Return the retired wallets of checkouts that another merchant, who proved the address, waits for."""
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
    """Say that nothing is under way to a retired wallet for its merchant any more; return whether that was news."""
    rows = ReceivingWallet.objects.filter(
        pk=wallet.pk, retired_at__isnull=False, released_at=None
    )
    return bool(rows.update(released_at=now))


def _of_others(
    merchant: Merchant, chain: str, address: str
) -> QuerySet[ReceivingWallet]:
    rows = ReceivingWallet.objects.filter(chain=chain, address=address)
    return rows.exclude(merchant=merchant)


def _held(now: datetime) -> Q:
    return Q(retired_at=None) | Q(retired_at__gt=now - BUYERS_MAY_STILL_PAY)


def _under_way(now: datetime) -> Q:
    """Wallets to which payments of their merchants' may be under way, as far as anybody here can know."""
    buyers = Q(
        purpose=ClaimKind.CHECKOUT,
        released_at=None,
        retired_at__gt=now - BUYERS_MAY_STILL_PAY,
    )
    machines = Q(purpose=ClaimKind.X402, retired_at__gt=now - MACHINES_MAY_STILL_PAY)
    return Q(retired_at=None) | buyers | machines
