"""Merchants' wallets for machine payments (x402) on chains without forwarders, separate from buyers' wallets."""

from datetime import datetime

from django.db import IntegrityError, transaction

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Merchant
from gateway.core.api.errors import InvalidRequestError
from wallets.models import ReceivingWallet, WalletProof
from wallets.networks import chain_spec
from wallets.receiving.claims import ProofRequiredError, refuse_own, refuse_unproven
from wallets.receiving.mails import tell_machine_wallet
from wallets.receiving.service import usable_address
from wallets.states import ClaimKind


@transaction.atomic
def set_machine_wallet(
    merchant: Merchant, *, chain: str, address: str, actor: Actor, now: datetime, proof: WalletProof | None = None
) -> ReceivingWallet:
    """Make machines pay `address` on Solana, TON or Tron from now on, and mail all owners.

    Unlike a change of the buyers' wallet it takes effect at once: each request tells machines where to pay, and the old
    wallet is accepted for two more hours. Raises InvalidRequestError
    (chain_unsupported, address_invalid), ConflictError (duplicate) if the merchant's buyers pay there (see
    `refuse_own`), and ProofRequiredError if another merchant receives there (see `refuse_unproven`); with `proof`, only if
    another merchant is faster.
    """
    canonical = machine_address(chain, address)
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    present = ReceivingWallet.objects.of_machines().filter(retired_at=None)
    current = present.filter(merchant=merchant, chain=chain).first()
    if current is not None and current.address == canonical:
        return current
    refuse_own(merchant, ClaimKind.X402, chain=chain, address=canonical, now=now)
    if proof is None:
        refuse_unproven(merchant, chain=chain, address=canonical, now=now)
    if current is not None:
        ReceivingWallet.objects.filter(pk=current.pk).update(retired_at=now)
    wallet = _create(merchant, chain=chain, address=canonical, now=now, proof=proof)
    before = current.address if current else None
    record(
        merchant,
        action="x402.wallet_set",
        actor=actor,
        object_id=chain,
        before={"address": before} if before else None,
        after={"address": canonical},
        now=now,
    )
    tell_machine_wallet(wallet, actor=actor, before=before, now=now)
    return wallet


def machine_address(chain: str, address: str) -> str:
    """Return an address that machines can pay, in canonical form. Raises InvalidRequestError as `usable_address` does."""
    canonical = usable_address(chain, address)
    if chain_spec(chain).family.has_forwarders:
        raise InvalidRequestError(
            f"On {chain} machines pay a forwarder to your receiving wallet; there is nothing to set.",
            param="chain",
            code="chain_unsupported",
        )
    return canonical


def _create(
    merchant: Merchant, *, chain: str, address: str, now: datetime, proof: WalletProof | None
) -> ReceivingWallet:
    try:
        with transaction.atomic():
            return ReceivingWallet.objects.create(
                merchant=merchant,
                chain=chain,
                of_one_merchant=chain_spec(chain).exact_amount_required,
                address=address,
                purpose=ClaimKind.X402,
                key=chain_spec(chain).family.address_key(address),
                created_at=now,
                inspected_at=now,
                proof=proof,
            )
    except IntegrityError as error:
        # Two merchants at once: the constraint accepts one.
        raise ProofRequiredError from error
