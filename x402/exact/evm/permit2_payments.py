"""Finds where a permit paid. Permit2 stores only one bit of a used authorisation.

The transfer is identified by the proxy's call or, if another contract called the proxy, by the block in which the bit
changed.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from accounts.states import Mode
from settlements.gas.node import GasNode, Receipt
from wallets.chains.base import MalformedAnswerError
from wallets.chains.evm import decode as evm_decode
from wallets.chains.rpc.client import RefusedError
from wallets.chains.rpc.pool import RpcPool
from wallets.forwarders.addresses import keccak
from x402.exact.evm import contracts, logs
from x402.exact.evm.contracts import PERMIT2, PROXY
from x402.exact.evm.permit2 import SETTLE, is_used, number_of
from x402.exact.inputs import Executed, StandardRequest
from x402.models import X402Payment

_OWN_PERMIT: Final = "(uint256,uint256,bytes32,bytes32,uint8)"
_CALLS: Final = {
    keccak(f"{name}({','.join(kinds)})".encode())[:4]: kinds
    for name, kinds in (("settle", SETTLE.takes), ("settleWithPermit", (_OWN_PERMIT, *SETTLE.takes)))
}
_SETTLED: Final = [["0x" + keccak(event).hex()] for event in (b"Settled()", b"SettledWithPermit()")]
_TAKEN_BACK: Final = "0x" + keccak(b"UnorderedNonceInvalidation(address,uint256,uint256)").hex()
# The maximum of a payer's unexplained transfers of the same amount to the same merchant: each costs a request or more.
_MOST_DOUBTED: Final = 20


def find_payment(pool: RpcPool, node: GasNode, request: StandardRequest, searched: logs.Searched) -> Executed | None:
    """Find the transfer of a used authorisation; None if none is certain. Raises ChainError."""
    for tx_hash in _doubted(pool, request, searched):
        told = _transaction(pool, tx_hash)
        is_ours = told.to == PROXY and _is_call_of(request, told.data)
        if told.to == PROXY and not is_ours:
            continue
        found = _payment_in(node.receipt(tx_hash), request)
        if found and (is_ours or _was_used_in(pool, request, found.height)):
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Told:
    """A transaction's call: `to` in EIP-55, "" if it creates a contract."""

    to: str
    data: bytes


def _doubted(pool: RpcPool, request: StandardRequest, searched: logs.Searched) -> list[str]:
    """Return transactions with transfers like this one that have no use yet, newest first."""
    signed = request.signed
    topics = [evm_decode.TRANSFER, *map(logs.topic, (signed.payer, signed.recipient))]
    found = Counter(
        logs.transaction_of(log)
        for log in logs.find_logs(pool, request.asset, topics, searched)
        if logs.is_payment(log, request)
    )
    found.subtract(Counter(tx_hash for tx_hash, _ in _used(request, found)))
    return [tx_hash for tx_hash in reversed(found) if found[tx_hash] > 0][:_MOST_DOUBTED]


def _used(request: StandardRequest, tx_hashes: Collection[str]) -> Iterable[tuple[str, int]]:
    """Return the used transfers in these transactions, by hash and position."""
    used = X402Payment.objects.filter(mode=Mode.LIVE, chain=request.spec.name, tx_hash__in=list(tx_hashes))
    alike = used.filter(payer=request.signed.payer, pay_to=request.pay_to)
    return alike.values_list("tx_hash", "position")


def _payment_in(receipt: Receipt | None, request: StandardRequest) -> Executed | None:
    """Return the first unused transfer like this one in a receipt that the proxy made."""
    if receipt is None or not receipt.succeeded:
        return None
    used = {position for _, position in _used(request, [receipt.tx_hash])}
    for place in _settled(request, receipt):
        if place not in used:
            return Executed(receipt.tx_hash, place, receipt.height)
    return None


def _settled(request: StandardRequest, receipt: Receipt) -> Iterator[int]:
    """Yield the positions of transfers like this one that the proxy made: its own event follows each of its transfers."""
    places = {_index(log): place for place, log in logs.transfers(receipt)}
    last: int | None = None
    for log in logs.told_logs(receipt):
        place = places.get(_index(log))
        if place is not None:
            last = place if logs.is_payment(log, request) else None
        elif last is not None and _is_settled(log):
            yield last
            last = None


def _index(log: logs.Log) -> int:
    return evm_decode.quantity(log.get("logIndex"))


def _is_settled(log: logs.Log) -> bool:
    return logs.emitter(log) == PROXY and log["topics"] in _SETTLED


def _was_used_in(pool: RpcPool, request: StandardRequest, height: int) -> bool:
    """Whether an authorisation was used in this very block. A node without such old state cannot tell."""
    before, here = hex(max(height - 1, 0)), hex(height)
    try:
        was_free = not is_used(pool, request, block=before)
        is_taken = is_used(pool, request, block=here)
    except RefusedError:
        return False
    return was_free and is_taken and not _was_taken_back_in(pool, request, height)


def _was_taken_back_in(pool: RpcPool, request: StandardRequest, height: int) -> bool:
    """Whether the payer cancelled nonces in the same block and in the same word of bits as this one."""
    topics = [_TAKEN_BACK, logs.topic(request.signed.payer)]
    word = (number_of(request) // 256).to_bytes(32, "big")
    found = logs.find_logs(pool, PERMIT2, topics, logs.Searched(height, height))
    return any(contracts.hex_bytes(log.get("data"))[:32] == word for log in found)


def _transaction(pool: RpcPool, tx_hash: str) -> _Told:
    answer = pool.call("eth_getTransactionByHash", [tx_hash])
    if not isinstance(answer, dict) or answer.get("hash") != tx_hash:
        raise MalformedAnswerError("a transaction is not the one asked for")
    to = answer.get("to")
    return _Told(to=logs.in_eip55(to) if to is not None else "", data=contracts.hex_bytes(answer.get("input")))


def _is_call_of(request: StandardRequest, data: bytes) -> bool:
    from eth_abi.exceptions import DecodingError

    kinds = _CALLS.get(data[:4])
    if kinds is None:
        return False
    try:
        told = contracts.coder().decode(kinds, data[4:])
        permit, owner, witness, _ = told[-len(SETTLE.takes) :]
    except (DecodingError, OverflowError):
        # A length beyond any calldata overflows.
        return False
    (token, units), nonce, _ = permit
    signed = request.signed
    wanted = (request.asset, signed.payer, signed.recipient)
    return (units, nonce) == (signed.units, number_of(request)) and (token, owner, witness[0]) == tuple(
        one.lower() for one in wanted
    )
