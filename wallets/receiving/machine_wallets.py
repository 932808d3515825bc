"""The merchants' wallets that machines pay (x402) on chains without forwarders: never wallets that buyers pay."""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.audit.service import record
from accounts.models import Merchant, User
from gateway.core.errors import ConflictError, InvalidRequestError
from wallets.addresses import address_key
from wallets.chains.specs import Family
from wallets.models import ReceivingWallet, WalletChange
from wallets.networks import chain_spec
from wallets.receiving.claims import BUYERS_MAY_STILL_PAY
from wallets.receiving.mails import tell_machine_wallet
from wallets.receiving.service import usable_address
from wallets.states import ClaimKind


@transaction.atomic
def set_machine_wallet(
    merchant: Merchant,
    *,
    chain: str,
    address: str,
    actor: User,
    now: datetime,
    client: str | None = None,
) -> ReceivingWallet:
    """Have machines pay `address` on Solana, TON or Tron from now on, and tell all owners.

    It takes effect at once, unlike a change of what buyers pay: machines are told where to pay with each request, and the
    wallet before is taken for two hours more. `client` is the network address of whoever does it. Raises
    InvalidRequestError (chain_unsupported, address_invalid), and ConflictError (duplicate) where somebody, this merchant
    included, receives checkouts there, did within 31 days or waits to, or another merchant's machines pay there.
    """
    canonical = _usable(chain, address)
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    present = ReceivingWallet.objects.of_machines().filter(retired_at=None)
    current = present.filter(merchant=merchant, chain=chain).first()
    if current is not None and current.address == canonical:
        return current
    _refuse_used(merchant, chain=chain, address=canonical, now=now)
    if current is not None:
        ReceivingWallet.objects.filter(pk=current.pk).update(retired_at=now)
    wallet = _create(merchant, chain=chain, address=canonical, now=now)
    before = current.address if current else None
    record(
        merchant,
        action="x402.wallet_set",
        actor=actor,
        object_id=chain,
        before={"address": before} if before else None,
        after={"address": canonical},
        address=client,
        now=now,
    )
    tell_machine_wallet(wallet, actor=actor, before=before, now=now)
    return wallet


def _usable(chain: str, address: str) -> str:
    canonical = usable_address(chain, address)
    if chain_spec(chain).family is Family.EVM:
        raise InvalidRequestError(
            f"On {chain} machines pay a forwarder to your receiving wallet; there is nothing to set.",
            param="chain",
            code="chain_unsupported",
        )
    return canonical


def _refuse_used(
    merchant: Merchant, *, chain: str, address: str, now: datetime
) -> None:
    held = Q(retired_at=None) | Q(retired_at__gt=now - BUYERS_MAY_STILL_PAY)
    rows = ReceivingWallet.objects.filter(held, chain=chain, address=address)
    others = Q(purpose=ClaimKind.CHECKOUT) | ~Q(merchant=merchant)
    waiting = WalletChange.objects.filter(
        WalletChange.OPEN, chain=chain, address=address
    )
    if rows.filter(others).exists() or waiting.exists():
        raise _used()


def _used() -> ConflictError:
    return ConflictError(
        "This address receives something else. Machines need a wallet of their own.",
        code="duplicate",
    )


def _create(
    merchant: Merchant, *, chain: str, address: str, now: datetime
) -> ReceivingWallet:
    try:
        with transaction.atomic():
            return ReceivingWallet.objects.create(
                merchant=merchant,
                chain=chain,
                address=address,
                purpose=ClaimKind.X402,
                key=address_key(address, family=chain_spec(chain).family),
                created_at=now,
            )
    except IntegrityError as error:
        # Two at once: the constraint lets one of them have it.
        raise _used() from error
