"""Transfers that holders of USDC on a local Base signed, for our gas account to send."""

from contextlib import closing
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils import timezone

from gateway.core.times import clock_from
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from settlements.gas.relay import Relay, relay
from settlements.models import GasTransaction
from wallets.chains.evm.authorizations.terms import TransferAuthorization
from wallets.chains.family import TokenDomain
from wallets.chains.registry import open_pool
from wallets.networks import chain_spec


def signed_transfer(node: Anvil, to: str, units: int, **values: Any) -> TransferAuthorization:
    """What a holder signed: the node's payer, unless `account` is given."""
    told, spec = authorize(node, to, units, **values), chain_spec("base")
    return TransferAuthorization(
        spec=spec,
        token=spec.tokens["USDC"].address,
        domain=TokenDomain("USD Coin", "2"),
        payer=told.payer,
        recipient=told.to,
        units=told.units,
        valid_after=told.valid_after,
        valid_before=told.valid_before,
        nonce=bytes.fromhex(told.nonce[2:]),
        signature=bytes.fromhex(told.signature[2:]),
    )


def send(signed: TransferAuthorization, cause: Relay, *, now: datetime | None = None) -> GasTransaction:
    """Have our gas account send it."""
    with closing(open_pool(chain_spec("base"))) as pool:
        return relay(signed, cause, pool=pool, clock=clock_from(now or timezone.now()))


def elsewhere(signed: TransferAuthorization, token: str) -> TransferAuthorization:
    """The same of another token."""
    return replace(signed, token=token)
