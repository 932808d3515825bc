"""Machines' payments as their watcher would have recorded them, without a node."""

import hashlib
import secrets
from datetime import datetime
from typing import Any

from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from tests.factories import USDC_ON_BASE, make_live_chain, make_wallet
from wallets.models import DepositAddress, Transfer
from wallets.selectors import forget
from wallets.states import ClaimKind
from x402.byhash.service import verify
from x402.inputs import Proof, Requirements, VerifyRequest
from x402.payments.addresses import pay_to
from x402.payments.claims import Caller

PAYER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
UNITS = 500_000


def make_seller(merchant: Merchant, settings: Any, *, height: int = 1_000) -> str:
    """Let a merchant's machines pay on Base, read up to a height; return where."""
    make_payable(merchant, settings, height=height)
    found = pay_to(merchant.pk, Mode.LIVE, "base")
    assert found is not None
    return found


def make_payable(merchant: Merchant, settings: Any, *, height: int = 1_000) -> None:
    """Let a merchant's machines pay on Base once somebody asks where."""
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = {"BASE_RPC_URLS": "http://127.0.0.1:1"}
    make_live_chain("base", height=height, head=height, first_height=1)
    make_wallet(merchant, "base")
    forget()


def make_machine_transfer(merchant: Merchant, to: str, units: int = UNITS, **overrides: Any) -> Transfer:
    """A transfer to a machines' forwarder, twelve blocks deep and not final yet."""
    now = timezone.now()
    values: dict[str, Any] = {
        "chain": "base",
        "tx_hash": f"0x{secrets.token_hex(32)}",
        "position": 0,
        "token": "USDC",
        "token_address": USDC_ON_BASE,
        "sender": PAYER,
        "recipient": to,
        "block_height": 990,
        "block_hash": "0x" + "ab" * 32,
        "block_time": now,
        "detected_at": now,
        "queued_at": now,
    }
    return Transfer.objects.create(
        deposit=DepositAddress.objects.get(key=bytes.fromhex(to[2:])),
        purpose=ClaimKind.X402,
        merchant=merchant,
        mode=Mode.LIVE,
        units=units,
        **(values | overrides),
    )


def request_for(transfer: Transfer, *, price: int = UNITS, resource: str = "a report") -> VerifyRequest:
    """What a resource server asks about it."""
    proof = Proof(
        tx_hash=transfer.tx_hash,
        chain=transfer.chain,
        token=transfer.token,
        units=int(transfer.units),
        payer=transfer.sender,
        pay_to=transfer.recipient,
    )
    wanted = Requirements(transfer.chain, transfer.token, price, resource)
    told = f"{transfer.tx_hash} {price} {resource}"
    digest = hashlib.sha256(told.encode()).digest()
    return VerifyRequest(proof, wanted, digest)


def verify_it(transfer: Transfer, *, key: str = "", now: datetime | None = None, **values: Any) -> dict[str, Any]:
    """Have a payment verified by the service."""
    caller = Caller(transfer.merchant_id, Mode(transfer.mode), key)
    return verify(caller, request_for(transfer, **values), now=now or timezone.now())
