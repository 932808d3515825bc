"""Settlements from a merchant's own browser wallet: the same call, with the wallet paying the gas."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction

from gateway.core.api.errors import InvalidRequestError
from settlements.models import Settlement
from settlements.states import Sender, SettlementStatus
from settlements.sweeps.calls import batches
from settlements.sweeps.outcomes import OPEN_STATUSES, fail_batch
from settlements.sweeps.plan import Waiting, call_of, planned_items, waiting_items, write_batch
from settlements.sweeps.requests import Asker, note_asked
from wallets.networks import chain_spec
from wallets.states import ClaimKind

UNFINISHED_FOR: Final = timedelta(days=1)
"""A wallet's batch without any outflow for this long is planned again."""

_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_UNFINISHED: Final = "Nothing left the forwarders for a day: the wallet did not send it, or it failed."


@dataclass(frozen=True, slots=True)
class WalletBatch:
    """A transaction for a browser wallet, and its settlements.

    `transaction` has `to`, `data` (0x and hex), `chainId` and `gas` (numbers), as wallets' libraries expect.
    """

    batch: str
    settlements: Sequence[Settlement]
    transaction: dict[str, Any]


@transaction.atomic
def wallet_batch(
    merchant_id: int, *, purpose: ClaimKind, chain: str, token: str, now: datetime, by: Asker | None = None
) -> WalletBatch | None:
    """Return the transaction that settles a merchant's waiting forwarders of a token; None if nothing waits.

    Until its hash is known, another call returns the same one, because people close wallets' windows. Forwarders that our
    gas failed to empty are included. Raises KeyError for an unknown chain or token.
    """
    written = _unsent(merchant_id, purpose, chain, token)
    if not written:
        wanted = Waiting(chain, token, merchant_id, purpose, with_troubled=True)
        first = next(iter(batches(waiting_items(wanted, now=now))), None)
        if first is None:
            return None
        written = write_batch(wanted, first, now=now, sender=Sender.WALLET)
        note_asked(written, by, now=now)
    batch = written[0].batch
    call = call_of(chain, token, planned_items(batch))
    return WalletBatch(
        batch,
        written,
        {"to": call.to, "data": "0x" + call.data.hex(), "chainId": chain_spec(chain).chain_id, "gas": call.gas_limit},
    )


def note_wallet_hash(merchant_id: int, batch: str, tx_hash: str) -> Sequence[Settlement]:
    """Record the hash of a wallet's transaction; return the batch's settlements, none if the merchant has no such batch.

    Only what leaves the forwarders ends them, so that a wrong hash moves nothing. Raises InvalidRequestError for an invalid
    hash.
    """
    if not _HASH.fullmatch(tx_hash):
        raise InvalidRequestError("tx_hash must be 0x and 64 hexadecimal digits.", param="tx_hash")
    rows = Settlement.objects.filter(merchant=merchant_id, batch=batch, sender=Sender.WALLET, status__in=OPEN_STATUSES)
    rows.update(tx_hash=tx_hash.lower(), status=SettlementStatus.SENT)
    return list(rows.order_by("pk"))


def give_up_wallets(*, now: datetime) -> int:
    """End wallets' settlements that were not sent within a day; return how many."""
    rows = Settlement.objects.filter(
        sender=Sender.WALLET, status__in=OPEN_STATUSES, created_at__lt=now - UNFINISHED_FOR
    )
    overdue = list(rows.order_by("batch").values_list("batch", flat=True).distinct())
    return sum(fail_batch(batch, _UNFINISHED, now=now, is_trouble=False) for batch in overdue)


def _unsent(merchant_id: int, purpose: ClaimKind, chain: str, token: str) -> list[Settlement]:
    rows = Settlement.objects.filter(
        merchant=merchant_id,
        purpose=purpose,
        chain=chain,
        token=token,
        sender=Sender.WALLET,
        status=SettlementStatus.PENDING,
    )
    oldest = rows.order_by("pk").first()
    return [] if oldest is None else list(rows.filter(batch=oldest.batch))
