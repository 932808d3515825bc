"""Searches transactions' logs for an authorisation's transfer. Raises MalformedAnswerError for invalid logs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from settlements.gas.node import Receipt
from wallets.chains.base import MalformedAnswerError
from wallets.chains.evm import decode as evm_decode
from wallets.chains.rpc.pool import RpcPool
from wallets.forwarders.addresses import checksum
from x402.exact.inputs import StandardRequest

Log = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Searched:
    """Blocks from `first` to `last`, both included."""

    first: int
    last: int


def told_logs(receipt: Receipt) -> list[Log]:
    """Return a receipt's logs in the chain's order; each has a list of topics.

    Raises MalformedAnswerError for logs in another order, as transfers would get wrong positions.
    """
    evm_decode.check_order(receipt.logs)
    return _with_topics(receipt.logs)


def transfers(receipt: Receipt) -> Iterator[tuple[int, Log]]:
    """Yield the transfers in a receipt, of any token, with their positions as watchers count them."""
    yield from enumerate(evm_decode.transfer_entries({"logs": told_logs(receipt)}))


def is_payment(log: Log, request: StandardRequest) -> bool:
    """Whether a transfer has the signed token, payer, recipient and amount."""
    signed = request.signed
    return (
        emitter(log) == request.asset
        and log["topics"][1:] == [topic(signed.payer), topic(signed.recipient)]
        and int(evm_decode.word(log.get("data")), 16) == signed.units
    )


def find_logs(pool: RpcPool, emitter: str, topics: Sequence[str | None], searched: Searched) -> list[Log]:
    """Ask for a contract's logs by their topics; None is any. Raises ChainError."""
    wanted = {
        "address": emitter,
        "topics": list(topics),
        "fromBlock": hex(searched.first),
        "toBlock": hex(searched.last),
    }
    logs = pool.call("eth_getLogs", [wanted])
    if not isinstance(logs, list) or not all(isinstance(log, dict) for log in logs):
        raise MalformedAnswerError("logs are no list")
    return _with_topics(logs)


def transaction_of(log: Log) -> str:
    """Return the hash of a log's transaction."""
    return evm_decode.word(log.get("transactionHash"))


def emitter(log: Log) -> str:
    """Return the contract that wrote a log, in EIP-55."""
    return in_eip55(log.get("address"))


def in_eip55(told: Any) -> str:
    """Return a node's address in EIP-55."""
    return checksum(bytes.fromhex(evm_decode.address(told)[2:]))


def topic(address: str) -> str:
    """Return an address in a topic's form."""
    return evm_decode.PADDING + address[2:].lower()


def _with_topics(logs: Sequence[Log]) -> list[Log]:
    if not all(isinstance(log.get("topics"), list) for log in logs):
        raise MalformedAnswerError("a log has no topics")
    return list(logs)
