"""On-chain evidence of an authorisation: the transaction that used it, ours or a third party's."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from settlements.gas.node import GasNode, Receipt
from wallets.chains.base import ChainUnavailableError
from wallets.chains.evm import decode as evm_decode
from wallets.chains.rpc.pool import RpcPool
from wallets.forwarders.addresses import keccak
from x402.exact.evm import eip3009, logs, permit2, permit2_payments
from x402.exact.inputs import Executed, StandardRequest

# EIP-3009.
_USED: Final = "0x" + keccak(b"AuthorizationUsed(address,bytes32)").hex()
# Public nodes search this many blocks at once; this many parts cover an hour on the fastest of our chains.
_BLOCKS: Final = 1_000
_PIECES: Final = 2


@dataclass(frozen=True, slots=True)
class Evidence:
    """Whether an authorisation is already used, and its transfer; None if no transfer was found."""

    is_used: bool
    executed: Executed | None = None


def transfer_in(receipt: Receipt, request: StandardRequest) -> Executed | None:
    """Return the transfer of an authorisation in a receipt; None if there is none. Raises MalformedAnswerError.

    Of several alike, as in a third party's batch, it is the first one after the authorisation's own event.
    """
    if not receipt.succeeded:
        return None
    used_at = _used_at(receipt, request)
    for position, log in logs.transfers(receipt):
        is_after = evm_decode.quantity(log.get("logIndex")) > used_at
        if is_after and logs.is_payment(log, request):
            return Executed(receipt.tx_hash, position, receipt.height)
    return None


def find_used(pool: RpcPool, request: StandardRequest, *, at_least: int = 0) -> Evidence:
    """Find where a third party carried out an authorisation, on nodes that know the block `at_least`.

    Raises ChainError.
    """
    node = GasNode(pool)
    newest = node.height()
    if newest < at_least:
        raise ChainUnavailableError("a node is behind what we know already")
    is_permit = request.signed.is_permit2
    # At that very block: one address may have several backends, some of which lag.
    kind = permit2 if is_permit else eip3009
    if not kind.is_used(pool, request, block=hex(newest)):
        return Evidence(is_used=False)
    find = permit2_payments.find_payment if is_permit else _find_payment
    for searched in _pieces(newest):
        if executed := find(pool, node, request, searched):
            return Evidence(is_used=True, executed=executed)
    return Evidence(is_used=True)


def funder_of(pool: RpcPool, asset: str, payer: str) -> str:
    """Return who last sent an account a token, within about an hour; "" if nobody did. Raises ChainError."""
    topics = [evm_decode.TRANSFER, None, logs.topic(payer)]
    for searched in _pieces(GasNode(pool).height()):
        found = logs.find_logs(pool, asset, topics, searched)
        if found and len(found[-1]["topics"]) == len(topics):
            return logs.in_eip55("0x" + evm_decode.word(found[-1]["topics"][1])[-40:])
    return ""


def _pieces(newest: int) -> Iterator[logs.Searched]:
    for piece in range(_PIECES):
        last = newest - piece * _BLOCKS
        yield logs.Searched(max(last - _BLOCKS + 1, 0), last)
        if last < _BLOCKS:
            return


def _find_payment(pool: RpcPool, node: GasNode, request: StandardRequest, searched: logs.Searched) -> Executed | None:
    for log in logs.find_logs(pool, request.asset, _use_of(request), searched):
        receipt = node.receipt(logs.transaction_of(log))
        if receipt and (found := transfer_in(receipt, request)):
            return found
    return None


def _use_of(request: StandardRequest) -> list[str]:
    signed = request.signed
    return [_USED, logs.topic(signed.payer), signed.nonce]


def _used_at(receipt: Receipt, request: StandardRequest) -> int:
    """Return the position of the authorisation's own event; before all others if there is none (Permit2)."""
    for log in logs.told_logs(receipt):
        if logs.emitter(log) == request.asset and log["topics"] == _use_of(request):
            return evm_decode.quantity(log.get("logIndex"))
    return -1
