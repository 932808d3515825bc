"""Settlements on a merchant's request: stored at once, sent by a task a moment later."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import transaction

from accounts.audit.service import record
from accounts.models import User
from accounts.states import Mode
from gateway.core.api.errors import ConflictError, InvalidRequestError
from gateway.core.broker import wake_task
from gateway.core.money import format_units
from settlements.gas.keys import gas_keys
from settlements.models import Settlement
from settlements.sweeps.calls import batches
from settlements.sweeps.plan import Waiting, waiting_items, write_batch
from settlements.sweeps.turns import forwarder_chains
from wallets.networks import chains, is_accepted
from wallets.states import ClaimKind

SENDER: Final = "settlements.tend"
"""The task that sends stored batches; beat starts it every few seconds as well."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who requests a settlement: a person, or the API key that `label` names, and the client's address."""

    user: User | None = None
    label: str = ""
    address: str | None = None


def note_asked(written: Sequence[Settlement], by: Asker | None, *, now: datetime) -> None:
    """Audit who requested settlements, in the transaction that stores them; automatic ones are not audited."""
    if by is None:
        return
    for settlement in written:
        record(
            settlement.merchant,
            action="settlement.asked",
            actor=by.user,
            actor_label=by.label,
            object_id=settlement.public_id,
            after={
                "chain": settlement.chain,
                "token": settlement.token,
                "amount": format_units(settlement.units),
                "to": settlement.to,
                "sender": str(settlement.sender),
            },
            address=by.address,
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
    by: Asker | None = None,
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
            for batch in batches(waiting_items(wanted, now=now)):
                _refuse_without_key()
                written += write_batch(wanted, batch, now=now)
        if written:
            note_asked(written, by, now=now)
            transaction.on_commit(lambda: wake_task(SENDER), robust=True)
    return written


def _refuse_unknown(chain: str | None, token: str | None) -> None:
    if chain is not None and chain not in chains():
        raise InvalidRequestError("There is no such chain.", param="chain", code="chain_unsupported")
    names = list(chains()) if chain is None else [chain]
    if token is not None and not any(is_accepted(name, token) for name in names):
        raise InvalidRequestError("This token is not accepted there.", param="token", code="token_unsupported")


def _refuse_without_key() -> None:
    if not gas_keys():
        raise ConflictError(
            "This installation has no key that pays for gas. Settle from your own browser wallet: in the dashboard, "
            "open Settlements and press Settle."
        )


def _wanted(merchant_id: int, purpose: ClaimKind, chain: str | None, token: str | None) -> Sequence[Waiting]:
    return [
        Waiting(spec.name, each.symbol, merchant_id, purpose)
        for spec in forwarder_chains()
        if chain in {None, spec.name}
        for each in spec.accepted_tokens
        if token in {None, each.symbol}
    ]
