"""Looks up a transaction by its hash on EVM chains and Tron: everything it moved, for any recipient.

Fields: https://ethereum.org/en/developers/docs/apis/json-rpc. java-tron writes `0x` where others write null, and as `value`
any amount of the transaction: mostly TRX, but also of TRC-10 tokens.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wallets.chains.base import (
    BlockRef,
    ChainUnavailableError,
    FoundMovement,
    FoundTransaction,
    Head,
    MalformedAnswerError,
    ReorgDuringReadError,
    TokenTransfer,
)
from wallets.chains.evm import decode
from wallets.chains.evm.decode import TransferLog
from wallets.chains.evm.dialect import Dialect
from wallets.chains.evm.questions import by_number, receipt_of
from wallets.chains.rpc.client import Call, Node
from wallets.chains.specs import ChainSpec, TokenSpec

# Compared instead of looked up: a value that is not text may not be hashable.
_NOTHING: Final = (None, "", "0x")


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks transactions up on nodes of one chain.

    `tokens` are the listed contracts as nodes write them. `write` converts a log to a TokenTransfer, given its block and
    position. `ask` sends calls to a node, and asks for its newest block in the same request. `final_through` returns, from
    that or by asking, the height up to which transactions are final, with the rule for large ones if wanted.
    """

    spec: ChainSpec
    dialect: Dialect
    tokens: Mapping[str, TokenSpec]
    write: Callable[[TransferLog, BlockRef, int], TokenTransfer]
    ask: Callable[[Node, Sequence[Call]], tuple[list[Any], Head]]
    final_through: Callable[[Node, Head, bool], int]

    def find(self, node: Node, tx_hash: str) -> FoundTransaction | None:
        """Return a transaction, None if the node does not know it. Raises ChainError.

        `tx_hash` is in the chain's own spelling. One request is enough if the node reports block times beside transactions.
        """
        name = "0x" + tx_hash.removeprefix(self.dialect.tx_prefix)
        calls = [("eth_getTransactionByHash", [name]), receipt_of(name)]
        (order, receipt), head = self.ask(node, calls)
        if order is None and receipt is None:
            return None
        order = _order(order, name)
        if receipt is not None:
            return self._mined(node, tx_hash, name, order, receipt, head)
        if order.get("blockHash") not in _NOTHING:
            raise ChainUnavailableError("the node lacks the receipt of a transaction")
        return self._found(tx_hash, succeeded=True)

    def _mined(
        self, node: Node, tx_hash: str, name: str, order: Mapping[str, Any], receipt: Any, head: Head
    ) -> FoundTransaction:
        block = _block_of(node, order, receipt, name, newest=head.block)
        if _has_failed(receipt):
            final = self.final_through(node, head, False)
            return self._found(tx_hash, block, head, succeeded=False, final=final)
        logs = dict(self._logs(receipt, name, block))
        transfers = [
            self.write(log, block, position)
            for position, log in logs.items()
            if log.token in self.tokens and _is_movement(log)
        ]
        final = self.final_through(node, head, self._is_large(transfers))
        told = [*self._coin(order), *(self._movement(log, at) for at, log in logs.items() if log.units)]
        return self._found(
            tx_hash,
            block,
            head,
            succeeded=True,
            final=final,
            movements=tuple(one for one in told if one.sender != one.recipient),
            transfers=tuple(transfers),
            to_oneself=tuple(one for one in told if one.sender == one.recipient),
        )

    def _found(
        self,
        tx_hash: str,
        block: BlockRef | None = None,
        head: Head | None = None,
        *,
        succeeded: bool,
        final: int = -1,
        movements: tuple[FoundMovement, ...] = (),
        transfers: tuple[TokenTransfer, ...] = (),
        to_oneself: tuple[FoundMovement, ...] = (),
    ) -> FoundTransaction:
        return FoundTransaction(
            chain=self.spec.name,
            tx_hash=tx_hash,
            succeeded=succeeded,
            is_final=block is not None and block.height <= final,
            block_height=None if block is None else block.height,
            block_time=None if block is None else block.time,
            movements=movements,
            transfers=transfers,
            head=None if head is None else head.block.height,
            to_oneself=to_oneself,
        )

    def _logs(self, receipt: Any, name: str, block: BlockRef) -> Iterator[tuple[int, TransferLog]]:
        """Return the Transfer logs by position; malformed logs of other contracts are left out."""
        if decode.receipt_positions(receipt, tx_hash=name).block_hash != block.hash:
            raise ReorgDuringReadError("a transaction moved while it was looked up")
        for position, entry in enumerate(decode.transfer_entries(receipt)):
            try:
                log = self._log(entry)
            except MalformedAnswerError:
                if decode.address(entry.get("address")) in self.tokens:
                    raise
                continue
            place = (name, block.hash, block.height)
            if (log.tx_hash, log.block_hash, log.height) != place:
                raise MalformedAnswerError("a receipt has another transaction's log")
            yield position, log

    def _log(self, entry: Mapping[str, Any]) -> TransferLog:
        [sided] = decode.sided_logs([entry])
        return decode.transfer_log(sided, self.dialect.paddings)

    def _is_large(self, transfers: list[TokenTransfer]) -> bool:
        large = self.spec.large_units
        return large is not None and any(one.units >= large for one in transfers)

    def _coin(self, order: Mapping[str, Any]) -> Iterator[FoundMovement]:
        """Return the transfer of the chain's own coin. A transaction without a recipient creates a contract."""
        if order.get("to") in _NOTHING or order.get("value") in _NOTHING:
            return
        sender, recipient = (bytes.fromhex(decode.address(order.get(name))[2:]) for name in ("from", "to"))
        units = _amount(order["value"])
        if units:
            yield FoundMovement(
                token=None,
                token_address="",
                units=units,
                sender=self.dialect.write_address(sender),
                recipient=self.dialect.write_address(recipient),
                recipient_key=recipient,
                position=0,
            )

    def _movement(self, log: TransferLog, position: int) -> FoundMovement:
        emitter = self.dialect.write_address(bytes.fromhex(log.token[2:]))
        listed = self.tokens.get(log.token)
        return FoundMovement(
            token=listed.symbol if listed is not None else None,
            token_address=emitter,
            units=log.units,
            sender=self.dialect.write_address(log.sender),
            recipient=self.dialect.write_address(log.recipient),
            recipient_key=log.recipient,
            position=position,
        )


def _order(answer: Any, name: str) -> Mapping[str, Any]:
    """Return the transaction as it was sent."""
    if not isinstance(answer, dict) or decode.word(answer.get("hash")) != name:
        raise MalformedAnswerError("another transaction came than was asked for")
    return answer


def _block_of(node: Node, order: Mapping[str, Any], receipt: Any, name: str, *, newest: BlockRef) -> BlockRef:
    """Return a receipt's block, checked to be still in the node's chain."""
    if not isinstance(receipt, dict) or decode.word(receipt.get("transactionHash")) != name:
        raise MalformedAnswerError("another receipt came than was asked for")
    if (told := _told_block(order, receipt, newest)) is not None:
        return told
    height = decode.quantity(receipt.get("blockNumber"))
    block = decode.block_ref(node.call(*by_number(height)), height=height)
    if block.hash != decode.word(receipt.get("blockHash")):
        raise ReorgDuringReadError("a transaction moved while it was looked up")
    return block


def _told_block(order: Mapping[str, Any], receipt: Mapping[str, Any], newest: BlockRef) -> BlockRef | None:
    """Return the block of a transaction from the answers; None if it must be requested.

    It must be requested if the two answers name different blocks, if the newest block does not follow it, or if neither
    answer has its time, as with older nodes.
    """
    height = decode.quantity(receipt.get("blockNumber"))
    block_hash = decode.word(receipt.get("blockHash"))
    places = [(one.get("blockNumber"), one.get("blockHash")) for one in (order, receipt)]
    if places[0] != places[1] or height > newest.height:
        return None
    known = {newest.height: newest.hash, newest.height - 1: newest.parent_hash}
    if known.get(height, block_hash) != block_hash:
        return None
    if height == newest.height:
        return newest
    time = decode.told_time(order, receipt)
    if time is None or time > newest.time:
        return None
    return BlockRef(height=height, hash=block_hash, parent_hash="", time=time)


def _has_failed(receipt: Mapping[str, Any]) -> bool:
    return bool(receipt.get("status") == "0x0")


def _is_movement(log: TransferLog) -> bool:
    return log.units > 0 and log.sender != log.recipient


def _amount(answer: Any) -> int:
    """Read an amount of coin, of at most 32 bytes."""
    digits = answer[2:] if isinstance(answer, str) and answer.startswith("0x") else ""
    return int(decode.word(f"0x{digits:0>64}"), 16)
