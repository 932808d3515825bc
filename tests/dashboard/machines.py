"""Machines' payments and settlements for the tests of their pages, as rows."""

import secrets
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from settlements.models import GasAccount, GasTransaction, Settlement, SettlementItem
from settlements.states import Purpose, Sender, SettlementStatus, TransactionState
from tests.factories import WALLET
from tests.x402.recorded import PAYER
from wallets.models import DepositAddress, Transfer, TransferClaim
from wallets.states import ClaimKind
from x402.models import X402Payment
from x402.states import Protocol

GAS_KEY = "0x" + "11" * 32
RESOURCE = "https://api.example.com/report/7"


def make_machine_payment(merchant: Merchant, units: int = 10_000, **facts: Any) -> X402Payment:
    """A payment that a machine made a moment ago."""
    now = facts.pop("now", None) or timezone.now()
    values: dict[str, Any] = {
        "mode": Mode.LIVE,
        "protocol": Protocol.HASH,
        "chain": "base",
        "tx_hash": f"0x{secrets.token_hex(32)}",
        "position": 0,
        "token": "USDC",
        "required_units": units,
        "payer": PAYER,
        "pay_to": WALLET,
        "resource": RESOURCE,
        "verified_at": now,
        "block_time": now,
    }
    return X402Payment.objects.create(merchant=merchant, units=units, **(values | facts))


def of_transfer(transfer: Transfer, **facts: Any) -> X402Payment:
    """The payment of a transfer that a watcher recorded, which it claims."""
    TransferClaim.objects.create(transfer=transfer, kind=ClaimKind.X402, claimed_at=transfer.detected_at)
    return make_machine_payment(
        transfer.merchant,
        int(transfer.units),
        chain=transfer.chain,
        token=transfer.token,
        tx_hash=transfer.tx_hash,
        transfer=transfer,
        **facts,
    )


def make_gas_transaction(cost: str = "210000000000000", *, now: datetime) -> GasTransaction:
    """A transaction of a gas key that is in the chain for good; `cost` in wei."""
    account, _ = GasAccount.objects.get_or_create(chain="base", address="0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A")
    return GasTransaction.objects.create(
        account=account,
        nonce=account.transactions.count(),
        purpose=Purpose.SWEEP,
        reference=secrets.token_hex(8),
        to=WALLET,
        data=b"",
        gas_limit=200_000,
        most_wei=Decimal(cost),
        state=TransactionState.MINED,
        created_at=now,
        cost_wei=Decimal(cost),
    )


def make_settlement(
    merchant: Merchant, units: int = 25_000_000, *, deposit: DepositAddress | None = None, **facts: Any
) -> Settlement:
    """A settlement that reached the merchant's wallet, of one forwarder where one is given."""
    now = timezone.now()
    status = facts.get("status", SettlementStatus.SETTLED)
    is_settled = status == SettlementStatus.SETTLED
    values: dict[str, Any] = {
        "mode": Mode.LIVE,
        "purpose": ClaimKind.CHECKOUT,
        "chain": "base",
        "token": "USDC",
        "to": WALLET,
        "status": status,
        "sender": Sender.GATEWAY,
        "batch": secrets.token_hex(8),
        "units_moved": units if is_settled else 0,
        "tx_hash": f"0x{secrets.token_hex(32)}" if is_settled else "",
        "settled_at": now if is_settled else None,
        "created_at": now,
    }
    made = Settlement.objects.create(merchant=merchant, units=units, **(values | facts))
    if deposit:
        moved = units if is_settled else None
        SettlementItem.objects.create(
            settlement=made,
            deposit=deposit,
            chain=made.chain,
            token=made.token,
            units=units,
            units_moved=moved,
            ended_at=now if is_settled else None,
        )
    return made
