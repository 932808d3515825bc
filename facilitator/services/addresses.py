"""Where a merchant's machines pay: forwarders of their own, and on the other chains a wallet of their own."""

import secrets
from datetime import datetime, timedelta
from typing import Final

from django.db import IntegrityError, transaction

from accounts.states import Mode
from facilitator.models import Forwarder
from wallets.addresses import evm_key
from wallets.chains.specs import Family
from wallets.expectation import WATCH_AFTER_EXPIRY
from wallets.forwarder import checksum, deposit_key
from wallets.models import EPOCH, DepositAddress, ReceivingWallet
from wallets.networks import chain_spec, chains, watched_chains
from wallets.selectors import TEST_DESTINATION, TEST_WALLETS, receiving_wallets
from wallets.states import ClaimKind

_ONE_MORE_DAY: Final = timedelta(days=1)


def pay_to(merchant_id: int, mode: Mode, chain: str) -> str | None:
    """Return where a merchant's machines pay on a chain, in canonical form; None where there is nowhere yet.

    A forwarder is made when it is first asked for, one for each wallet that the money ends up in.
    """
    if mode == Mode.TEST:
        return _test_pay_to(chain)
    if chain_spec(chain).family is not Family.EVM:
        rows = ReceivingWallet.objects.of_machines()
        present = rows.filter(merchant=merchant_id, chain=chain, retired_at=None)
        return present.values_list("address", flat=True).first()
    wallet = receiving_wallets(merchant_id).get(chain)
    return None if wallet is None else _forwarder(merchant_id, evm_key(wallet))


def _test_pay_to(chain: str) -> str:
    family = chain_spec(chain).family
    return checksum(TEST_DESTINATION) if family is Family.EVM else TEST_WALLETS[family]


def _forwarder(merchant_id: int, destination: bytes) -> str:
    rows = Forwarder.objects.filter(merchant=merchant_id, destination=destination)
    found = rows.values_list("deposit__key", flat=True).first()
    key = bytes(found) if found else _make_forwarder(merchant_id, destination)
    return checksum(key)


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
                # Only `expect_machines` says that somebody pays; the address itself is watched for ever.
                watched_until=EPOCH,
            )
            Forwarder.objects.create(
                merchant_id=merchant_id, deposit=deposit, destination=destination
            )
    except IntegrityError:
        # Somebody was faster: theirs is the merchant's.
        rows = Forwarder.objects.filter(merchant=merchant_id, destination=destination)
        return bytes(rows.values_list("deposit__key", flat=True).get())
    return key


def expect_machines(merchant_id: int, *, now: datetime) -> None:
    """Have the chains read at full pace for a day on which a merchant's machines may pay."""
    until = now + _ONE_MORE_DAY
    deposits = DepositAddress.objects.filter(
        pk__in=Forwarder.objects.filter(merchant=merchant_id).values("deposit"),
        watched_until__lt=until + WATCH_AFTER_EXPIRY,
    )
    deposits.update(watched_until=until + _ONE_MORE_DAY + WATCH_AFTER_EXPIRY)
    wallets = ReceivingWallet.objects.of_machines().filter(merchant=merchant_id)
    wallets.update(expected_until=until + _ONE_MORE_DAY)


def pay_to_everywhere(merchant_id: int, mode: Mode) -> dict[str, str]:
    """Return where a merchant's machines pay, by chain; chains where they cannot, or that have no node, are left out."""
    known = chains() if mode == Mode.TEST else [spec.name for spec in watched_chains()]
    found = {name: pay_to(merchant_id, mode, name) for name in known}
    return {name: address for name, address in found.items() if address is not None}
