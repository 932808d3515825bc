"""What the chain itself says of an authorisation: in which transaction it was used, whoever sent that."""

from collections.abc import Mapping
from typing import Any, Final

from facilitator.standard.evm import contracts
from facilitator.standard.inputs import Executed, StandardRequest
from settlements.gas.node import GasNode, Receipt
from wallets.chains import evm_decode
from wallets.chains.base import MalformedAnswerError
from wallets.chains.pool import RpcPool
from wallets.forwarder import checksum, keccak

# EIP-3009.
_USED: Final = "0x" + keccak(b"AuthorizationUsed(address,bytes32)").hex()
# Public nodes search so many blocks at once; this many pieces go back an hour on the fastest of our chains.
_BLOCKS: Final = 1_000
_PIECES: Final = 2

Log = Mapping[str, Any]


def transfer_in(receipt: Receipt, request: StandardRequest) -> Executed | None:
    """Return the transfer of an authorisation in a receipt; None where it moved nothing so. Raises MalformedAnswerError.

    Of several alike, as in a batch of somebody else's, it is the first one after the authorisation's own event.
    """
    if not receipt.succeeded:
        return None
    used_at = _used_at(receipt, request)
    transfers = evm_decode.transfer_entries({"logs": _with_topics(receipt)})
    for position, log in enumerate(transfers):
        if evm_decode.quantity(log.get("logIndex")) > used_at and _is_ours(
            log, request
        ):
            return Executed(receipt.tx_hash, position, receipt.height)
    return None


def find_used(pool: RpcPool, request: StandardRequest) -> Executed | None:
    """Find where somebody else carried an authorisation out; None where nobody did. Raises ChainError."""
    if not _is_used(pool, request):
        return None
    node = GasNode(pool)
    newest = node.height()
    for piece in range(_PIECES):
        last = newest - piece * _BLOCKS
        for tx_hash in _uses(pool, request, max(last - _BLOCKS + 1, 0), last):
            receipt = node.receipt(tx_hash)
            if receipt and (found := transfer_in(receipt, request)):
                return found
        if last < _BLOCKS:
            break
    return None


def _is_used(pool: RpcPool, request: StandardRequest) -> bool:
    from x402.mechanisms.evm.constants import AUTHORIZATION_STATE_ABI

    signed = request.signed
    if not signed.nonce.startswith("0x"):
        return False
    nonce = bytes.fromhex(signed.nonce[2:])
    state = contracts.read(
        pool,
        request.asset,
        AUTHORIZATION_STATE_ABI,
        "authorizationState",
        signed.payer,
        nonce,
    )
    return bool(state)


def _uses(pool: RpcPool, request: StandardRequest, first: int, last: int) -> list[str]:
    wanted = {
        "address": request.asset,
        "topics": [_USED, _topic(request.signed.payer), request.signed.nonce],
        "fromBlock": hex(first),
        "toBlock": hex(last),
    }
    logs = pool.call("eth_getLogs", [wanted])
    if not isinstance(logs, list) or not all(isinstance(log, dict) for log in logs):
        raise MalformedAnswerError("logs are no list")
    return [evm_decode.word(log.get("transactionHash")) for log in logs]


def _used_at(receipt: Receipt, request: StandardRequest) -> int:
    """Return the place of the authorisation's own event; before everything where there is none (Permit2)."""
    wanted = [_USED, _topic(request.signed.payer), request.signed.nonce]
    for log in _with_topics(receipt):
        if _emitter(log) == request.asset and log["topics"] == wanted:
            return evm_decode.quantity(log.get("logIndex"))
    return -1


def _with_topics(receipt: Receipt) -> list[Log]:
    if not all(isinstance(log.get("topics"), list) for log in receipt.logs):
        raise MalformedAnswerError("a log has no topics")
    return list(receipt.logs)


def _is_ours(log: Log, request: StandardRequest) -> bool:
    signed = request.signed
    return (
        _emitter(log) == request.asset
        and log["topics"][1:] == [_topic(signed.payer), _topic(signed.recipient)]
        and int(evm_decode.word(log.get("data")), 16) == signed.units
    )


def _emitter(log: Log) -> str:
    return checksum(bytes.fromhex(evm_decode.address(log.get("address"))[2:]))


def _topic(address: str) -> str:
    return evm_decode.PADDING + address[2:].lower()
