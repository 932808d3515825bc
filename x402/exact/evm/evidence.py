"""On-chain evidence of an authorisation: the transaction that used it, ours or a third party's."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from accounts.states import Mode
from settlements.gas.node import GasNode, GasReceipt
from wallets.chains.base import ChainUnavailableError, MalformedAnswerError
from wallets.chains.evm import decode as evm_decode
from wallets.chains.evm.authorizations import contracts
from wallets.chains.evm.logs import Log, Searched, find_logs, in_eip55, newest_pieces, topic, with_topics
from wallets.chains.rpc.client import RefusedError
from wallets.chains.rpc.pool import RpcPool
from wallets.forwarders.addresses import keccak
from x402.exact.evm import eip3009, permit2
from x402.exact.evm.permit2 import PERMIT2, is_used, number_of, proxy_of
from x402.exact.inputs import Executed, StandardRequest
from x402.models import X402Payment

_SETTLED: Final = [["0x" + keccak(event).hex()] for event in (b"Settled()", b"SettledWithPermit()")]
_TAKEN_BACK: Final = "0x" + keccak(b"UnorderedNonceInvalidation(address,uint256,uint256)").hex()
# The maximum of a payer's unexplained transfers of the same amount to the same merchant: each costs a request or more.
_MOST_DOUBTED: Final = 20

# EIP-3009.
_AUTHORIZATION_USED: Final = "0x" + keccak(b"AuthorizationUsed(address,bytes32)").hex()


def told_logs(receipt: GasReceipt) -> list[Log]:
    """Return a receipt's logs in the chain's order; each has a list of topics.

    Raises MalformedAnswerError for logs in another order, as transfers would get wrong positions.
    """
    evm_decode.check_order(receipt.logs)
    return with_topics(receipt.logs)


def transfers(receipt: GasReceipt) -> Iterator[tuple[int, Log]]:
    """Yield the transfers in a receipt, of any token, with their positions as watchers count them."""
    yield from enumerate(evm_decode.transfer_entries({"logs": told_logs(receipt)}))


def is_payment(log: Log, request: StandardRequest) -> bool:
    """Whether a transfer has the signed token, payer and recipient, and the amount: in scheme `upto` what is charged."""
    signed = request.signed
    return (
        emitter(log) == request.asset
        and log["topics"][1:] == [topic(signed.payer), topic(signed.recipient)]
        and int(evm_decode.word(log.get("data")), 16) == request.units
    )


def transaction_of(log: Log) -> str:
    """Return the hash of a log's transaction."""
    return evm_decode.word(log.get("transactionHash"))


def emitter(log: Log) -> str:
    """Return the contract that wrote a log, in EIP-55."""
    return in_eip55(log.get("address"))


def _find_permit2_payment(
    pool: RpcPool, node: GasNode, request: StandardRequest, searched: Searched
) -> Executed | None:
    """Find the transfer of a used authorisation; None if none is certain. Raises ChainError."""
    for tx_hash in _doubted(pool, request, searched):
        told = _transaction(pool, tx_hash)
        is_proxys = told.to == proxy_of(request).address
        is_ours = is_proxys and _is_call_of(request, told.data)
        if is_proxys and not is_ours:
            continue
        found = _payment_in(node.receipt(tx_hash), request)
        if found and (is_ours or _was_used_in(pool, request, found.height)):
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Call:
    """A transaction's call: `to` in EIP-55, "" if it creates a contract."""

    to: str
    data: bytes


def _doubted(pool: RpcPool, request: StandardRequest, searched: Searched) -> list[str]:
    """Return transactions with transfers like this one that have no use yet, newest first."""
    signed = request.signed
    topics = [evm_decode.TRANSFER, *map(topic, (signed.payer, signed.recipient))]
    found = Counter(
        transaction_of(log) for log in find_logs(pool, request.asset, topics, searched) if is_payment(log, request)
    )
    found.subtract(Counter(tx_hash for tx_hash, _ in _used(request, found)))
    return [tx_hash for tx_hash in reversed(found) if found[tx_hash] > 0][:_MOST_DOUBTED]


def _used(request: StandardRequest, tx_hashes: Collection[str]) -> Iterable[tuple[str, int]]:
    """Return the used transfers in these transactions, by hash and position."""
    used = X402Payment.objects.filter(mode=Mode.LIVE, chain=request.spec.name, tx_hash__in=list(tx_hashes))
    alike = used.filter(payer=request.signed.payer, pay_to=request.pay_to)
    return alike.values_list("tx_hash", "position")


def _payment_in(receipt: GasReceipt | None, request: StandardRequest) -> Executed | None:
    """Return the first unused transfer like this one in a receipt that the proxy made."""
    if receipt is None or not receipt.succeeded:
        return None
    used = {position for _, position in _used(request, [receipt.tx_hash])}
    for place in _settled(request, receipt):
        if place not in used:
            return Executed(receipt.tx_hash, place, receipt.height)
    return None


def _settled(request: StandardRequest, receipt: GasReceipt) -> Iterator[int]:
    """Yield the positions of transfers like this one that the proxy made: its own event follows each of its transfers."""
    places = {_index(log): place for place, log in transfers(receipt)}
    last: int | None = None
    for log in told_logs(receipt):
        place = places.get(_index(log))
        if place is not None:
            last = place if is_payment(log, request) else None
        elif last is not None and _is_settled(log, request):
            yield last
            last = None


def _index(log: Log) -> int:
    return evm_decode.quantity(log.get("logIndex"))


def _is_settled(log: Log, request: StandardRequest) -> bool:
    return emitter(log) == proxy_of(request).address and log["topics"] in _SETTLED


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
    topics = [_TAKEN_BACK, topic(request.signed.payer)]
    word = (number_of(request) // 256).to_bytes(32, "big")
    found = find_logs(pool, PERMIT2, topics, Searched(height, height))
    return any(contracts.hex_bytes(log.get("data"))[:32] == word for log in found)


def _transaction(pool: RpcPool, tx_hash: str) -> _Call:
    answer = pool.call("eth_getTransactionByHash", [tx_hash])
    if not isinstance(answer, dict) or answer.get("hash") != tx_hash:
        raise MalformedAnswerError("a transaction is not the one asked for")
    to = answer.get("to")
    return _Call(to=in_eip55(to) if to is not None else "", data=contracts.hex_bytes(answer.get("input")))


def _is_call_of(request: StandardRequest, data: bytes) -> bool:
    from eth_abi.exceptions import DecodingError

    proxy = proxy_of(request)
    called = {one.selector: one for one in (proxy.settle, proxy.settle_with_permit)}.get(data[:4])
    if called is None:
        return False
    try:
        told = contracts.coder().decode(called.takes, data[4:])
        permit, *charged, owner, witness, _ = told[-len(proxy.settle.takes) :]
    except (DecodingError, OverflowError):
        # A length beyond any calldata overflows.
        return False
    (token, units), nonce, _ = permit
    signed = request.signed
    if charged != ([request.units] if request.is_upto else []):
        return False
    wanted = (request.asset, signed.payer, signed.recipient)
    return (units, nonce) == (signed.units, number_of(request)) and (token, owner, witness[0]) == tuple(
        one.lower() for one in wanted
    )


@dataclass(frozen=True, slots=True)
class Evidence:
    """Whether an authorisation is already used, and its transfer; None if no transfer was found."""

    is_used: bool
    executed: Executed | None = None


def transfer_in(receipt: GasReceipt, request: StandardRequest) -> Executed | None:
    """Return the transfer of an authorisation in a receipt; None if there is none. Raises MalformedAnswerError.

    Of several alike, as in a third party's batch, it is the first one after the authorisation's own event.
    """
    if not receipt.succeeded:
        return None
    used_at = _used_at(receipt, request)
    for position, log in transfers(receipt):
        is_after = evm_decode.quantity(log.get("logIndex")) > used_at
        if is_after and is_payment(log, request):
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
    find = _find_permit2_payment if is_permit else _find_eip3009_payment
    for searched in newest_pieces(newest, request.spec.block_seconds):
        if executed := find(pool, node, request, searched):
            return Evidence(is_used=True, executed=executed)
    return Evidence(is_used=True)


def _find_eip3009_payment(
    pool: RpcPool, node: GasNode, request: StandardRequest, searched: Searched
) -> Executed | None:
    for log in find_logs(pool, request.asset, _use_of(request), searched):
        receipt = node.receipt(transaction_of(log))
        if receipt and (found := transfer_in(receipt, request)):
            return found
    return None


def _use_of(request: StandardRequest) -> list[str]:
    signed = request.signed
    return [_AUTHORIZATION_USED, topic(signed.payer), signed.nonce]


def _used_at(receipt: GasReceipt, request: StandardRequest) -> int:
    """Return the position of the authorisation's own event; before all others if there is none (Permit2)."""
    for log in told_logs(receipt):
        if emitter(log) == request.asset and log["topics"] == _use_of(request):
            return evm_decode.quantity(log.get("logIndex"))
    return -1
