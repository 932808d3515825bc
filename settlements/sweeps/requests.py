"""Settlements on a merchant's request: a task sends them with our gas, or the merchant's browser wallet sends them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction

from accounts.audit.actors import Actor
from accounts.audit.service import record
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.broker import wake_task
from gateway.core.money import format_units
from gateway.core.texts import pgettext_noop
from settlements.gas.keys import gas_keys
from settlements.models import Settlement
from settlements.states import Sender, SettlementStatus
from settlements.sweeps.outcomes import OPEN_STATUSES, fail_batch
from settlements.sweeps.plan import (
    WaitingFilter,
    batch_gas,
    batches,
    call_of,
    forwarder_chains,
    planned_items,
    waiting_items,
    write_batch,
)
from wallets.networks import chain_spec, chains, takes_from_machines
from wallets.states import ClaimKind

SENDER: Final = "settlements.tend"
"""The task that sends stored batches; beat starts it every few seconds as well."""

UNFINISHED_FOR: Final = timedelta(days=1)
"""A wallet's batch without any outflow for this long is planned again."""

_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)
_UNFINISHED: Final = "Nothing left the forwarders for a day: the wallet did not send it, or it failed."


def note_asked(written: Sequence[Settlement], actor: Actor | None, *, now: datetime) -> None:
    """Audit who requested settlements, in the transaction that stores them; automatic ones are not audited."""
    if actor is None:
        return
    for settlement in written:
        record(
            settlement.merchant,
            action="settlement.asked",
            actor=actor,
            object_id=settlement.public_id,
            after={
                "chain": settlement.chain,
                "token": settlement.token,
                "amount": format_units(settlement.units),
                "to": settlement.to,
                "sender": str(settlement.sender),
            },
            now=now,
        )


def settle_now(
    merchant_id: int,
    mode: Mode,
    *,
    purpose: ClaimKind = ClaimKind.X402,
    chain: str | None = None,
    token: str | None = None,
    now: datetime,
    actor: Actor | None = None,
) -> list[Settlement]:
    """Store `pending` settlements of a merchant's waiting forwarders, of one chain or token or of all.

    Whether the gas is worthwhile is checked when a batch is sent. Test mode, chains without forwarders and empty forwarders
    have nothing to settle: an empty list. Raises InvalidRequestError for an unknown chain or token, and ConflictError if
    something waits but no gas key is set.
    """
    _refuse_unknown(chain, token)
    if mode == Mode.TEST:
        return []
    written: list[Settlement] = []
    with transaction.atomic():
        for wanted in _wanted(merchant_id, purpose, chain, token):
            for batch in batches(waiting_items(wanted, now=now), gas=batch_gas(wanted.chain)):
                _refuse_without_key()
                written += write_batch(wanted, batch, now=now)
        if written:
            note_asked(written, actor, now=now)
            transaction.on_commit(lambda: wake_task(SENDER), robust=True)
    return written


def _refuse_unknown(chain: str | None, token: str | None) -> None:
    if chain is not None and chain not in chains():
        raise InvalidRequestError("There is no such chain.", param="chain", code="chain_unsupported")
    names = list(chains()) if chain is None else [chain]
    if token is not None and not any(takes_from_machines(name, token) for name in names):
        raise InvalidRequestError("This token is not accepted there.", param="token", code="token_unsupported")


def _refuse_without_key() -> None:
    if not gas_keys():
        raise ConflictError(
            pgettext_noop(
                "team",
                "This installation has no key that pays for gas. Settle from your own browser wallet: in the dashboard, "
                "open Settlements and press Settle.",
            )
        )


def _wanted(merchant_id: int, purpose: ClaimKind, chain: str | None, token: str | None) -> Sequence[WaitingFilter]:
    return [
        WaitingFilter(spec.name, each.symbol, merchant_id, purpose)
        for spec in forwarder_chains()
        if chain in {None, spec.name}
        for each in spec.machine_tokens
        if token in {None, each.symbol}
    ]


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
    merchant_id: int, *, purpose: ClaimKind, chain: str, token: str, now: datetime, actor: Actor | None = None
) -> WalletBatch | None:
    """Return the transaction that settles a merchant's waiting forwarders of a token; None if nothing waits.

    Until its hash is known, another call returns the same one, because people close wallets' windows. Forwarders that our
    gas failed to empty are included. Raises KeyError for an unknown chain or token.
    """
    written = _unsent(merchant_id, purpose, chain, token)
    if not written:
        wanted = WaitingFilter(chain, token, merchant_id, purpose, with_troubled=True)
        first = next(iter(batches(waiting_items(wanted, now=now), gas=batch_gas(chain))), None)
        if first is None:
            return None
        written = write_batch(wanted, first, now=now, sender=Sender.WALLET)
        note_asked(written, actor, now=now)
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
