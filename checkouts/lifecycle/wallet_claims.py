"""Releases wallets that another merchant has proven, once no checkout of the old owner needs them."""

from datetime import datetime

from accounts.states import Mode
from checkouts.models import AmountReservation, Checkout
from wallets.models import ReceivingWallet
from wallets.receiving.claims import claims_to_release, release_claim


def release_claims(*, now: datetime) -> int:
    """Release each retired wallet that is claimed and that no checkout needs; return how many."""
    idle = [wallet for wallet in claims_to_release(now=now) if not is_needed(wallet)]
    return sum(release_claim(wallet, now=now) for wallet in idle)


def is_needed(wallet: ReceivingWallet) -> bool:
    """Whether a live or cooling checkout of the wallet's merchant offered it.

    A checkout cools as long as its exact amount is reserved.
    """
    here = {f"offers__{wallet.chain}__wallet": wallet.address}
    live = Checkout.objects.live().filter(merchant=wallet.merchant_id, mode=Mode.LIVE, **here)
    cooling = AmountReservation.objects.filter(
        merchant=wallet.merchant_id,
        mode=Mode.LIVE,
        released_at=None,
        **{f"checkout__{name}": value for name, value in here.items()},
    )
    return live.exists() or cooling.exists()
