"""Sends the ledger's transactions to EVM nodes, and asks nodes about them. Every answer is checked.

`settlements.gas.upkeep` follows the transactions until they are final.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from typing import Any, Final

import structlog
from django.db import transaction

from settlements.gas.fees import Prices
from settlements.models import GasAttempt, GasTransaction
from settlements.states import ON_THEIR_WAY, Outcome, Purpose, TransactionState
from wallets.chains.base import ChainError, MalformedAnswerError
from wallets.chains.registry import open_pool
from wallets.chains.rpc.client import Call, Node, RefusedError, ask_in_parts
from wallets.chains.rpc.pool import RpcPool
from wallets.networks import chain_spec

log = structlog.get_logger(__name__)

_QUANTITY: Final = re.compile(r"0x[0-9a-fA-F]{1,64}", re.ASCII)
# No height, nonce or gas amount is as large (EIP-2681 for nonces); the database's columns end here.
_MOST_COUNTED: Final = 2**63 - 1
# A hundred coins: more than any transaction costs.
_MOST_WEI: Final = 100 * 10**18
_WORD: Final = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)

_PRICES: Final[Sequence[Call]] = (("eth_getBlockByNumber", ["latest", False]), ("eth_maxPriorityFeePerGas", []))

RECEIPT_SECONDS: Final = 20.0
"""How long a request waits for a receipt before it answers that the settlement is pending."""


class Sending(Enum):
    """A node's answer to a signed transaction."""

    OFFERED = "a node is asked to take it"
    TAKEN = "it has it, now or already"
    USED = "its number is used"
    UNDERPRICED = "it pays less than the one that waits in its place, or than the node takes"
    POOR = "its account cannot pay for it"
    REFUSED = "no node takes it"


# Error texts of go-ethereum, bor and other forks, erigon, nethermind, besu, reth, anvil, hardhat and OpenEthereum. Their
# codes say less: -32000 and -32003 mean all of them.
_SAYINGS: Final = (
    (Sending.TAKEN, re.compile(r"already ?known|known transaction|already imported", re.IGNORECASE)),
    (Sending.USED, re.compile(r"nonce (?:is )?too (?:low|small)|old ?nonce", re.IGNORECASE)),
    (
        Sending.UNDERPRICED,
        re.compile(
            r"underpriced|(?:fee|price|tip|cap) ?(?:is )?too ?low|less than (?:the )?block base ?fee"
            r"|below (?:the )?(?:current |configured |chain )?(?:base fee|minimum)|replacement ?not ?allowed"
            r"|(?:lower|less) than (?:the )?(?:min|base ?fee)|too low for the next block",
            re.IGNORECASE,
        ),
    ),
    (
        Sending.POOR,
        re.compile(
            r"insufficient ?(?:funds|(?:account )?balance)|exceeds (?:the )?(?:[a-z]+ ){0,3}balance|lack of funds"
            r"|(?:doesn't|does not) have enough (?:funds|balance)|not enough (?:funds|balance)|balance is too low",
            re.IGNORECASE,
        ),
    ),
)

UNPAYABLE: Final = frozenset({Sending.UNDERPRICED, Sending.POOR})
"""A node's refusal for want of coins, or of a fee that it takes now."""


@dataclass(frozen=True, slots=True)
class GasReceipt:
    """A transaction's result. `cost` is what its account paid, in wei; `logs` are as received, unchecked."""

    tx_hash: str
    height: int
    block_hash: str
    succeeded: bool
    gas_used: int
    cost: int
    logs: Sequence[Mapping[str, Any]]


class GasNode:
    """The nodes of one chain, for transactions. Every method raises only ChainError."""

    def __init__(self, pool: RpcPool) -> None:
        self._pool = pool

    def prices(self) -> Prices:
        """Return current gas prices, with one request."""
        return self._pool.run(_prices)

    def height(self) -> int:
        """Return the newest block's height."""
        return self._pool.run(lambda node: _count(node.call("eth_blockNumber", [])))

    def nonce(self, address: str, *, height: int | None = None) -> int:
        """Return how many transactions of an account were mined, up to a block or the newest."""
        return self._pool.run(partial(_nonce, address, height))

    def nonces(self, address: str, *, height: int | None = None) -> Sequence[int]:
        """Return the same, confirmed by a second node if there is one. Raises ChainError if that does not answer."""
        ask = partial(_nonce, address, height)
        told, elsewhere = self._pool.run(ask), self._pool.second_opinion(ask)
        return [told] if elsewhere is None else [told, elsewhere]

    def polled_nonces(self, address: str) -> list[tuple[str, int]]:
        """Return each node's nonce of an account at the newest block, by node name; all of them must answer."""
        return self._pool.each(lambda node: (node.label, _nonce(address, None, node)))

    def balance(self, address: str) -> int:
        """Return an account's coin, in wei."""
        params = [address, "latest"]
        return self._pool.run(lambda node: _quantity(node.call("eth_getBalance", params)))

    def send(self, raw: bytes) -> Sending:
        """Send a signed transaction; return the nodes' answer. If one refuses it, the next one is tried."""
        try:
            return self._pool.run(lambda node: _send(node, raw))
        except RefusedError as error:
            log.warning("transaction refused", error=str(error))
            return Sending.REFUSED

    def send_first(self, raw: bytes) -> Sending:
        """Send a transaction that was given to no node before; return the nodes' answer.

        Raises ChainError if a node may have it that did not say so: one that hung, before another one refused it.
        """
        doubts: list[ChainError] = []

        def ask(node: Node) -> Sending:
            try:
                return _send(node, raw)
            except RefusedError:
                raise
            except ChainError as error:
                doubts.append(error)
                raise

        try:
            answer = self._pool.run(ask)
        except RefusedError:
            answer = Sending.REFUSED
        if doubts and answer is not Sending.TAKEN:
            raise doubts[0]
        return answer

    def is_unpayable_everywhere(self, raw: bytes) -> bool:
        """Return whether each node refuses a transaction for want of coin or fee. One that has it says that it knows it.

        Raises ChainError if a node does not answer: it may have it.
        """
        return all(said in UNPAYABLE for said in self._pool.each(lambda n: _send(n, raw)))

    def receipt(self, tx_hash: str) -> GasReceipt | None:
        """Return a transaction's receipt, once it is in a block."""
        return self._pool.run(partial(_receipt_of, tx_hash))

    def is_lost(self, address: str, nonce: int, tx_hashes: Sequence[str], *, height: int) -> bool:
        """Whether an account's nonce was used at or below a block by none of these transactions.

        One node answers everything: with two, a lagging one could make a transaction look lost. A second node, if there is
        one, must agree.
        """

        def ask(node: Node) -> bool:
            if _nonce(address, height, node) <= nonce:
                return False
            found = (_receipt_of(tx_hash, node) for tx_hash in tx_hashes)
            return all(receipt is None for receipt in found)

        return self._pool.run(ask) and self._pool.second_opinion(ask) is not False


def _prices(node: Node) -> Prices:
    block, tip = ask_in_parts(node, _PRICES)
    if not isinstance(block, dict):
        raise MalformedAnswerError("a block is no object")
    told = block.get("timestamp")
    return Prices(_quantity(block.get("baseFeePerGas")), _quantity(tip), None if told is None else _moment(told))


def _nonce(address: str, height: int | None, node: Node) -> int:
    tag = "latest" if height is None else hex(height)
    return _count(node.call("eth_getTransactionCount", [address, tag]))


def _send(node: Node, raw: bytes) -> Sending:
    try:
        node.call("eth_sendRawTransaction", ["0x" + raw.hex()])
    except RefusedError as error:
        if (meaning := meaning_of(str(error))) is None:
            raise
        return meaning
    # The returned hash is ignored: ours is computed from the signed bytes.
    return Sending.TAKEN


def meaning_of(text: str) -> Sending | None:
    """Return what a client's error text says about a transaction; None if it is in none of the words we know."""
    return next((meaning for meaning, saying in _SAYINGS if saying.search(text)), None)


def _receipt_of(tx_hash: str, node: Node) -> GasReceipt | None:
    answer = node.call("eth_getTransactionReceipt", [tx_hash])
    return None if answer is None else _receipt(answer, tx_hash)


def _receipt(answer: Any, tx_hash: str) -> GasReceipt:
    if not isinstance(answer, dict) or answer.get("transactionHash") != tx_hash:
        raise MalformedAnswerError("a receipt is not that of the transaction")
    block_hash, logs = answer.get("blockHash"), answer.get("logs")
    if not isinstance(block_hash, str) or not _WORD.fullmatch(block_hash):
        raise MalformedAnswerError("a receipt names no block")
    if not isinstance(logs, list) or not all(isinstance(log, dict) for log in logs):
        raise MalformedAnswerError("a receipt has no logs")
    return GasReceipt(
        tx_hash=tx_hash,
        height=_count(answer.get("blockNumber")),
        block_hash=block_hash,
        succeeded=_quantity(answer.get("status")) == 1,
        gas_used=_count(answer.get("gasUsed")),
        cost=_cost(answer),
        logs=logs,
    )


def _cost(receipt: Mapping[str, Any]) -> int:
    cost = _quantity(receipt.get("gasUsed")) * _quantity(receipt.get("effectiveGasPrice"))
    # A rollup's fee for data on its base chain; other chains report none.
    if (data_fee := receipt.get("l1Fee")) is not None:
        cost += _quantity(data_fee)
    if cost > _MOST_WEI:
        raise MalformedAnswerError("a transaction cannot have cost that much")
    return cost


def _quantity(answer: Any) -> int:
    if not isinstance(answer, str) or not _QUANTITY.fullmatch(answer):
        raise MalformedAnswerError("a number is not a number")
    return int(answer, 16)


def _count(answer: Any) -> int:
    number = _quantity(answer)
    if number > _MOST_COUNTED:
        raise MalformedAnswerError("a number is larger than any can be")
    return number


def _moment(answer: Any) -> datetime:
    try:
        return datetime.fromtimestamp(_count(answer), UTC)
    except (OverflowError, ValueError, OSError):
        raise MalformedAnswerError("a block is of no time") from None


@contextmanager
def gas_node(chain: str) -> Iterator[GasNode]:
    """Open the nodes of a chain for transactions, and close them."""
    pool = open_pool(chain_spec(chain))
    try:
        yield GasNode(pool)
    finally:
        pool.close()


def broadcast(gas_transaction: GasTransaction, *, node: GasNode, now: datetime) -> Sending:
    """Send the newest attempt to the nodes, and record their answer. Raises ChainError; then it is tried again."""
    attempt = _offered(gas_transaction)
    answer = node.send(bytes(attempt.raw))
    note_answer(attempt, answer, now=now)
    return answer


def note_answer(attempt: GasAttempt, answer: Sending, *, now: datetime) -> None:
    """Record the nodes' answer to an attempt."""
    with transaction.atomic():
        taken = answer is Sending.TAKEN
        GasAttempt.objects.filter(pk=attempt.pk).update(
            sent_at=now if taken else attempt.sent_at, error="" if taken else answer.value
        )
        if taken:
            GasTransaction.objects.filter(pk=attempt.transaction_id, state=TransactionState.INTENDED).update(
                state=TransactionState.SENT, sent_at=now
            )
    if not taken:
        log.warning("transaction not taken", tx=attempt.tx_hash, answer=answer.value)


def _offered(gas_transaction: GasTransaction) -> GasAttempt:
    """Return the newest attempt, marked as one that a node may have: from now on it is not withdrawn."""
    with transaction.atomic():
        lock_transaction(gas_transaction.pk)
        attempt = gas_transaction.attempts.order_by("-number")[0]
        if not attempt.error:
            attempt.error = Sending.OFFERED.value
            attempt.save(update_fields=["error"])
    return attempt


def lock_transaction(pk: int) -> GasTransaction:
    """Lock a transaction, and return it as it is now."""
    rows = GasTransaction.objects.select_for_update(of=("self",), no_key=True)
    return rows.select_related("account").get(pk=pk)


def find_receipt(gas_transaction: GasTransaction, *, node: GasNode) -> GasReceipt | None:
    """Return the receipt of any mined attempt. Raises ChainError."""
    for attempt in gas_transaction.attempts.order_by("-number"):
        if (receipt := node.receipt(attempt.tx_hash)) is not None:
            return receipt
    return None


def note_receipt(gas_transaction: GasTransaction, receipt: GasReceipt, *, is_final: bool, now: datetime) -> None:
    """Record which block a transaction is in; once that is final, its nonce is used for good."""
    changed: dict[str, Any] = {
        "state": TransactionState.MINED if is_final else TransactionState.SENT,
        "tx_hash": receipt.tx_hash,
        "block_height": receipt.height,
        "block_hash": receipt.block_hash,
        "succeeded": receipt.succeeded,
        "gas_used": receipt.gas_used,
        "cost_wei": receipt.cost,
        "mined_at": now if is_final else None,
    }
    emptied = emptied_reference(Purpose.RELAY, gas_transaction.pk)
    # Nobody else judges these.
    if gas_transaction.purpose == Purpose.RELAY or gas_transaction.reference == emptied:
        changed["outcome"] = _outcome(gas_transaction, receipt)
    GasTransaction.objects.filter(pk=gas_transaction.pk, state__in=ON_THEIR_WAY).update(**changed)


def emptied_reference(purpose: str, pk: int) -> str:
    """Return the reference of a transaction that had this purpose before it was emptied."""
    return f"{purpose}:{pk}"


def _outcome(relayed: GasTransaction, receipt: GasReceipt) -> Outcome:
    """Return what a relayed transfer came to: nothing if it was emptied, and no attempt of before was in a block already."""
    if relayed.attempts.get(tx_hash=receipt.tx_hash).is_empty:
        return Outcome.OPEN
    return Outcome.DONE if receipt.succeeded else Outcome.FAILED


def note_outcome(pk: int, outcome: Outcome) -> None:
    """Record what a transaction came to, by whoever asked for it and judges."""
    GasTransaction.objects.filter(pk=pk).exclude(outcome=outcome).update(outcome=outcome)
