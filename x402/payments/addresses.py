"""Where a merchant's machines pay: forwarders or, on other chains, a wallet for machines; and what the merchant requires."""

import secrets
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from threading import Lock
from typing import Final

from cachetools import TTLCache, cached
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Q
from django.urls import reverse

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.models import Merchant
from accounts.states import Mode
from wallets.chains.evm.address import address_key as evm_key
from wallets.forwarders.addresses import checksum, deposit_key
from wallets.models import EPOCH, ChainCursor, DepositAddress, ReceivingWallet
from wallets.networks import chain_spec, chains, watched_chains
from wallets.selectors import receiving_wallets
from wallets.states import ClaimKind
from wallets.watchers.demand import WATCH_AFTER_EXPIRY
from x402.models import Forwarder, MachineSettings

_DAY: Final = timedelta(days=1)

LATELY: Final = timedelta(hours=2)
"""How long a replaced wallet is still accepted: machines that got it from `/config` pay within the hour."""

_AGAIN_AFTER_SECONDS: Final = 60.0
_MOST_REMEMBERED: Final = 10_000
# The forwarders' addresses by merchant and destination; a forwarder never changes.
_forwarders: dict[tuple[int, bytes], str] = {}
# Returns a merchant's forwarder to a destination.
_Find = Callable[[int, bytes], str | None]


def requires_signature(merchant_id: int) -> bool:
    """Return whether a proof by hash needs the payer's signature."""
    rows = MachineSettings.objects.filter(merchant=merchant_id)
    return bool(rows.values_list("requires_signature", flat=True).first())


@transaction.atomic
def set_requirements(merchant: Merchant, *, requires_signature: bool, actor: Actor, now: datetime) -> None:
    """Set whether payers must sign, from the next verification on."""
    Merchant.objects.select_for_update(no_key=True).get(pk=merchant.pk)
    settings, _ = MachineSettings.objects.get_or_create(merchant=merchant)
    before = settings.requires_signature
    if before == requires_signature:
        return
    settings.requires_signature = requires_signature
    settings.save(update_fields=["requires_signature"])
    record(
        merchant,
        action="x402.requirements_set",
        actor=actor,
        before={"requires_signature": before},
        after={"requires_signature": requires_signature},
        now=now,
    )


def pay_to(merchant_id: int, mode: Mode, chain: str) -> str | None:
    """Return where a merchant's machines pay on a chain, in canonical form; None if there is no place yet.

    A forwarder is created at the first request, one for each receiving wallet.
    """
    return _pay_to(merchant_id, mode, chain, _forwarder)


def known_pay_to(merchant_id: int, mode: Mode, chain: str) -> str | None:
    """Return the same as `pay_to`; None if no forwarder exists yet. Creates nothing."""
    return _pay_to(merchant_id, mode, chain, _known_forwarder)


def _pay_to(merchant_id: int, mode: Mode, chain: str, forwarder: _Find) -> str | None:
    if mode == Mode.TEST:
        return _test_pay_to(chain)
    if not chain_spec(chain).family.has_forwarders:
        rows = ReceivingWallet.objects.of_machines()
        present = rows.filter(merchant=merchant_id, chain=chain, retired_at=None)
        return present.values_list("address", flat=True).first()
    wallet = receiving_wallets(merchant_id).get(chain)
    return None if wallet is None else forwarder(merchant_id, evm_key(wallet))


def settles_directly(chain: str) -> bool:
    """Whether machines pay the merchant's own wallet on a chain; elsewhere a forwarder that is flushed in batches."""
    return not chain_spec(chain).family.has_forwarders


def is_paid_at(merchant_id: int, mode: Mode, chain: str, address: str, *, now: datetime) -> bool:
    """Whether a merchant's machines pay at an address in canonical form, or did until recently."""
    if address == pay_to(merchant_id, mode, chain):
        return True
    return mode == Mode.LIVE and _was_paid_at(merchant_id, chain, address, now=now)


def _was_paid_at(merchant_id: int, chain: str, address: str, *, now: datetime) -> bool:
    retired = ReceivingWallet.objects.filter(merchant=merchant_id, chain=chain, retired_at__gt=now - LATELY)
    if not chain_spec(chain).family.has_forwarders:
        return retired.of_machines().filter(address=address).exists()
    forwarders = Forwarder.objects.filter(merchant=merchant_id, deposit__key=evm_key(address))
    destinations = forwarders.values("destination")
    return retired.of_checkouts().filter(key__in=destinations).exists()


def _test_pay_to(chain: str) -> str:
    return chain_spec(chain).family.nobody


def _forwarder(merchant_id: int, destination: bytes) -> str:
    known = _known_forwarder(merchant_id, destination)
    return known or checksum(_make_forwarder(merchant_id, destination))


def _known_forwarder(merchant_id: int, destination: bytes) -> str | None:
    known = _forwarders.get((merchant_id, destination))
    if known is not None:
        return known
    rows = Forwarder.objects.filter(merchant=merchant_id, destination=destination)
    found = rows.values_list("deposit__key", flat=True).first()
    if found is None:
        return None
    address = checksum(bytes(found))
    _remember(merchant_id, destination, address)
    return address


def _remember(merchant_id: int, destination: bytes, address: str) -> None:
    # Not cached: our transaction may roll back, and money to its address would be lost.
    if connection.in_atomic_block:
        return
    if len(_forwarders) > _MOST_REMEMBERED:
        _forwarders.clear()
    _forwarders[merchant_id, destination] = address


def _make_forwarder(merchant_id: int, destination: bytes) -> bytes:
    nonce = secrets.token_bytes(32)
    key = deposit_key(destination, nonce)
    try:
        with transaction.atomic():
            deposit = DepositAddress.objects.create(
                key=key,
                destination=destination,
                nonce=nonce,
                merchant_id=merchant_id,
                mode=Mode.LIVE,
                purpose=ClaimKind.X402,
                # Only `expect_machines` marks expected payments; the address itself is watched permanently.
                watched_until=EPOCH,
            )
            Forwarder.objects.create(merchant_id=merchant_id, deposit=deposit, destination=destination)
    except IntegrityError:
        # Another process was faster: its forwarder is the merchant's.
        rows = Forwarder.objects.filter(merchant=merchant_id, destination=destination)
        return bytes(rows.values_list("deposit__key", flat=True).get())
    return key


def expect_machines(merchant_id: int, *, now: datetime) -> None:
    """Have the chains read at full pace for a day, because a merchant's machines may pay.

    It is cheap to call often: a process acts once a minute for each merchant, and rows change once a day.
    """
    _expect(merchant_id, now)


@cached(TTLCache(_MOST_REMEMBERED, _AGAIN_AFTER_SECONDS), key=lambda merchant_id, now: merchant_id, lock=Lock())
def _expect(merchant_id: int, now: datetime) -> None:
    _expect_at_forwarders(merchant_id, now)
    _expect_at_wallets(merchant_id, now)


def _expect_at_forwarders(merchant_id: int, now: datetime) -> None:
    deposits = DepositAddress.objects.filter(
        pk__in=Forwarder.objects.filter(merchant=merchant_id).values("deposit"),
        watched_until__lt=now + _DAY + WATCH_AFTER_EXPIRY,
    )
    deposits.update(watched_until=now + 2 * _DAY + WATCH_AFTER_EXPIRY)


def _expect_at_wallets(merchant_id: int, now: datetime) -> None:
    """On exact-amount chains the wallets set the pace; on Ethereum the checkouts' wallet does."""
    exact = [name for name, spec in chains().items() if spec.family.has_forwarders and spec.exact_amount_required]
    wallets = ReceivingWallet.objects.filter(
        Q(expected_until=None) | Q(expected_until__lt=now + _DAY),
        Q(purpose=ClaimKind.X402) | Q(chain__in=exact),
        merchant=merchant_id,
        retired_at=None,
    )
    wallets.update(expected_until=now + 2 * _DAY)


def pay_to_everywhere(merchant_id: int, mode: Mode) -> dict[str, str]:
    """Return where a merchant's machines pay, by chain; forwarders are created as by `pay_to`.

    Left out are chains without a node or where no address is set, and chains on which forwarders could not be flushed.
    """
    return _everywhere(merchant_id, mode, pay_to)


def known_everywhere(merchant_id: int, mode: Mode) -> dict[str, str]:
    """Return the same as `pay_to_everywhere`, without creating forwarders."""
    return _everywhere(merchant_id, mode, known_pay_to)


def _everywhere(merchant_id: int, mode: Mode, where: Callable[[int, Mode, str], str | None]) -> dict[str, str]:
    names = list(chains()) if mode == Mode.TEST else payable_chains()
    found = {name: where(merchant_id, mode, name) for name in names}
    return {name: address for name, address in found.items() if address is not None}


def missing_chains(mode: Mode, found: Collection[str]) -> list[str]:
    """Return the chains that machines could pay on once a wallet is set; `found` are those where they can."""
    names = payable_chains() if mode == Mode.LIVE else []
    return [name for name in names if name not in found]


def wallet_page(merchant: Merchant, chain: str) -> str:
    """Return the dashboard page that sets the wallet for machines' payments on a chain."""
    has_forwarders = chain_spec(chain).family.has_forwarders
    name = "dashboard_receiving_wallet" if has_forwarders else "dashboard_x402_wallet"
    here = {"mer_id": merchant.public_id, "mode": Mode.LIVE, "chain": chain}
    return f"{settings.BASE_URL}{reverse(name, kwargs=here)}"


def payable_chains() -> list[str]:
    """Return the chains that are read; those with forwarders only if the factory is deployed."""
    rows = ChainCursor.objects.filter(factory_ok=True)
    with_factory = set(rows.values_list("chain", flat=True))
    return [spec.name for spec in watched_chains() if not spec.family.has_forwarders or spec.name in with_factory]
