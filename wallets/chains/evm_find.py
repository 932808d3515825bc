"""Looking a transaction up by its hash on Ethereum and its kin, Tron among them: what it moved, whoever it paid.

Fields: https://ethereum.org/en/developers/docs/apis/json-rpc. java-tron writes `0x` where others write null, and as `value`
whatever amount a transaction names: mostly TRX, but of TRC-10 tokens as well.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from wallets.chains import evm_decode as decode
from wallets.chains.base import (
    BlockRef,
    ChainUnavailableError,
    FoundMovement,
    FoundTransaction,
    MalformedAnswerError,
    ReorgDuringReadError,
    TokenTransfer,
)
from wallets.chains.batches import ask_in_parts
from wallets.chains.evm_decode import TransferLog
from wallets.chains.evm_dialect import Dialect
from wallets.chains.evm_questions import by_number, receipt_of
from wallets.chains.registry import ChainSpec, TokenSpec
from wallets.chains.rpc import Node

# Compared and not looked up: what is no text may not be hashable either.
_NOTHING: Final = (None, "", "0x")


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks transactions up on nodes of one chain.

    `tokens` are the listed contracts as nodes write them. `write` tells of a log what watchers do, given its block and its
    position. `final_through` asks a node up to which height transactions are final, large ones if so said.
    """

    spec: ChainSpec
    dialect: Dialect
    tokens: Mapping[str, TokenSpec]
    write: Callable[[TransferLog, BlockRef, int], TokenTransfer]
    final_through: Callable[[Node, bool], int]

    def find(self, node: Node, tx_hash: str) -> FoundTransaction | None:
        """Return a transaction, None if the node does not know it. Raises ChainError.

        `tx_hash` is in the chain's own spelling.
        """
        name = "0x" + tx_hash.removeprefix(self.dialect.tx_prefix)
        order, receipt = ask_in_parts(
            node, [("eth_getTransactionByHash", [name]), receipt_of(name)]
        )
        if order is None and receipt is None:
            return None
        order = _order(order, name)
        if receipt is not None:
            return self._mined(node, tx_hash, name, order, receipt)
        if order.get("blockHash") not in _NOTHING:
            raise ChainUnavailableError("the node lacks the receipt of a transaction")
        return self._found(tx_hash, succeeded=True)

    def _mined(
        self,
        node: Node,
        tx_hash: str,
        name: str,
        order: Mapping[str, Any],
        receipt: Any,
    ) -> FoundTransaction:
        block = _block_of(node, receipt, name)
        if _has_failed(receipt):
            is_final = block.height <= self.final_through(node, False)
            return self._found(tx_hash, block, succeeded=False, is_final=is_final)
        logs = dict(self._logs(receipt, name, block))
        transfers = [
            self.write(log, block, position)
            for position, log in logs.items()
            if log.token in self.tokens and _is_movement(log)
        ]
        final = self.final_through(node, self._is_large(transfers))
        movements = [
            *self._coin(order),
            *(self._movement(log, at) for at, log in logs.items() if _is_movement(log)),
        ]
        return self._found(
            tx_hash,
            block,
            succeeded=True,
            is_final=block.height <= final,
            movements=tuple(movements),
            transfers=tuple(transfers),
        )

    def _found(
        self,
        tx_hash: str,
        block: BlockRef | None = None,
        *,
        succeeded: bool,
        is_final: bool = False,
        movements: tuple[FoundMovement, ...] = (),
        transfers: tuple[TokenTransfer, ...] = (),
    ) -> FoundTransaction:
        return FoundTransaction(
            chain=self.spec.name,
            tx_hash=tx_hash,
            succeeded=succeeded,
            is_final=is_final,
            block_height=None if block is None else block.height,
            block_time=None if block is None else block.time,
            movements=movements,
            transfers=transfers,
        )

    def _logs(
        self, receipt: Any, name: str, block: BlockRef
    ) -> Iterator[tuple[int, TransferLog]]:
        """The Transfer logs by their position; what a stranger's contract wrote as none is left out."""
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
        return decode.transfer_log(entry, paddings=self.dialect.paddings)

    def _is_large(self, transfers: list[TokenTransfer]) -> bool:
        large = self.spec.large_units
        return large is not None and any(one.units >= large for one in transfers)

    def _coin(self, order: Mapping[str, Any]) -> Iterator[FoundMovement]:
        """The chain's own coin that the transaction carried. It creates a contract where it names no recipient."""
        if order.get("to") in _NOTHING or order.get("value") in _NOTHING:
            return
        sender, recipient = (
            bytes.fromhex(decode.address(order.get(name))[2:])
            for name in ("from", "to")
        )
        units = _amount(order["value"])
        if units and sender != recipient:
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
    """The transaction as it was sent."""
    if not isinstance(answer, dict) or decode.word(answer.get("hash")) != name:
        raise MalformedAnswerError("another transaction came than was asked for")
    return answer


def _block_of(node: Node, receipt: Any, name: str) -> BlockRef:
    """Return the block a receipt is of, made sure that the node still has it in its chain."""
    if (
        not isinstance(receipt, dict)
        or decode.word(receipt.get("transactionHash")) != name
    ):
        raise MalformedAnswerError("another receipt came than was asked for")
    height = decode.quantity(receipt.get("blockNumber"))
    block = decode.block_ref(node.call(*by_number(height)), height=height)
    if block.hash != decode.word(receipt.get("blockHash")):
        raise ReorgDuringReadError("a transaction moved while it was looked up")
    return block


def _has_failed(receipt: Mapping[str, Any]) -> bool:
    return bool(receipt.get("status") == "0x0")


def _is_movement(log: TransferLog) -> bool:
    return log.units > 0 and log.sender != log.recipient


def _amount(answer: Any) -> int:
    """Read an amount of coin, of 32 bytes at most."""
    digits = answer[2:] if isinstance(answer, str) and answer.startswith("0x") else ""
    return int(decode.word(f"0x{digits:0>64}"), 16)
