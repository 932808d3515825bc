"""What a call that others sign for may take, when our gas account sends it."""

from settlements.gas.keys import gas_keys
from wallets.chains.evm.authorizations import contracts
from wallets.chains.evm.authorizations.contracts import Call
from wallets.chains.rpc.pool import RpcPool


def gas_for(pool: RpcPool, call: Call) -> int:
    """Return a call's gas limit. Raises RevertedError if the maximum is not enough, ChainError."""
    return contracts.gas_for(pool, call, sender=estimating_account(call.to))


def estimating_account(otherwise: str) -> str:
    """Return an account of ours in whose name nodes estimate a call; without any, this address."""
    return next(iter(gas_keys()), otherwise)
