"""Builds the transaction that pays a checkout on Tron, for the payer's wallet to sign, and sends signed ones."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from wallets.chains.base import ChainUnavailableError, MalformedAnswerError
from wallets.chains.evm.proofs import signer_of
from wallets.chains.family import (
    NotEnoughError,
    PaymentOrder,
    PreparedPayment,
    SignedOtherwiseError,
    TransactionRefusedError,
)
from wallets.chains.rpc.client import Call, Node, ask_all
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.tron.dialect import address_key, contract

FEE_LIMIT: Final = 100_000_000
"""The highest fee in sun (millionths of a TRX): several times the cost of USDT for a recipient who never held any."""

_TYPE_URL: Final = "type.googleapis.com/protocol.TriggerSmartContract"
# First four bytes of keccak256("transfer(address,uint256)").
_TRANSFER: Final = bytes.fromhex("a9059cbb")
_ADDRESS_PREFIX: Final = b"\x41"

VALID_FOR: Final = timedelta(minutes=5)
"""How long a payer has to sign."""
# First four bytes of keccak256("balanceOf(address)").
_BALANCE_OF: Final = "0x70a08231"
_HASH: Final = re.compile(r"0x[0-9a-f]{64}", re.ASCII)
_QUANTITY: Final = re.compile(r"0x[0-9a-f]{1,16}", re.ASCII)
_SENT: Final = frozenset({"SUCCESS", "DUP_TRANSACTION_ERROR"})
# No key that may sign for the account signed these bytes.
_WRONG_SIGNATURE: Final = "SIGERROR"
# Answers of a node that could not forward it; another one may.
_UNDECIDED: Final = frozenset({"SERVER_BUSY", "NO_CONNECTION", "NOT_ENOUGH_EFFECTIVE_CONNECTION", "BLOCK_UNSOLIDIFIED"})


@dataclass(frozen=True, slots=True)
class Anchor:
    """The block a transaction names, which makes it invalid on other chains; `block_id` is 32 bytes."""

    height: int
    block_id: bytes


@dataclass(frozen=True, slots=True)
class ContractCall:
    """A call of a contract with `data`, by base58 addresses; times are milliseconds of the Unix epoch."""

    owner: str
    contract: str
    data: bytes
    anchor: Anchor
    timestamp: int
    expiration: int
    fee_limit: int = FEE_LIMIT

    def raw(self) -> bytes:
        """Return the bytes that are hashed and signed."""
        messages = _messages()
        call = messages.TriggerSmartContract(
            owner_address=_key(self.owner), contract_address=_key(self.contract), data=self.data
        )
        kind = messages.Transaction.Contract.TriggerSmartContract
        contract = messages.Transaction.Contract(type=kind)
        contract.parameter.Pack(call)
        return _written(
            messages.Transaction.raw(
                ref_block_bytes=self._ref_block_bytes,
                ref_block_hash=self._ref_block_hash,
                contract=[contract],
                timestamp=self.timestamp,
                expiration=self.expiration,
                fee_limit=self.fee_limit,
            )
        )

    def document(self) -> dict[str, Any]:
        """Return the transaction in tronWeb's form, which wallets compare with the bytes."""
        raw = self.raw()
        value = {
            "owner_address": _key(self.owner).hex(),
            "contract_address": _key(self.contract).hex(),
            "data": self.data.hex(),
        }
        parameter = {"value": value, "type_url": _TYPE_URL}
        return {
            "visible": False,
            "txID": hashlib.sha256(raw).hexdigest(),
            "raw_data": {
                "contract": [{"parameter": parameter, "type": "TriggerSmartContract"}],
                "ref_block_bytes": self._ref_block_bytes.hex(),
                "ref_block_hash": self._ref_block_hash.hex(),
                "expiration": self.expiration,
                "fee_limit": self.fee_limit,
                "timestamp": self.timestamp,
            },
            "raw_data_hex": raw.hex(),
        }

    @property
    def _ref_block_bytes(self) -> bytes:
        return self.anchor.height.to_bytes(8, "big")[6:8]

    @property
    def _ref_block_hash(self) -> bytes:
        return self.anchor.block_id[8:16]


def transfer_data(recipient: str, units: int) -> bytes:
    """Return the call of a token that moves `units` base units to a base58 address."""
    to = address_key(recipient)
    return _TRANSFER + to.rjust(32, b"\0") + units.to_bytes(32, "big")


def signed(raw: bytes, signature: bytes) -> bytes:
    """Return the whole `Transaction`: its raw bytes, as `ContractCall.raw` returned them, and the payer's signature."""
    messages = _messages()
    raw_data = messages.Transaction.raw.FromString(raw)
    return _written(messages.Transaction(raw_data=raw_data, signature=[signature]))


def _owner(raw: bytes) -> bytes:
    """Return the 20 bytes of the account that a transaction of ours is of."""
    messages = _messages()
    call = messages.TriggerSmartContract()
    messages.Transaction.raw.FromString(raw).contract[0].parameter.Unpack(call)
    owner: bytes = call.owner_address[len(_ADDRESS_PREFIX) :]
    return owner


@cache
def _messages() -> Any:
    # Slow to import, and needed only when a buyer presses a button.
    from wallets.chains.tron.keys import messages

    return messages


def _written(message: Any) -> bytes:
    """Serialise a message's fields in order, as java-tron does."""
    written: bytes = message.SerializeToString(deterministic=True)
    return written


def _key(address: str) -> bytes:
    return _ADDRESS_PREFIX + address_key(address)


class TronCashier:
    """Prepares payments by nodes' JSON-RPC, and sends them by TronGrid's REST interface. Not thread-safe."""

    def __init__(self, pool: RpcPool, grid: RpcPool) -> None:
        self._pool = pool
        self._grid = grid

    def prepare(self, order: PaymentOrder, *, now: datetime, until: datetime) -> ContractCall:
        """Return the call for the payer to sign, valid for five minutes and not past `until`.

        Raises ChainError, and NotEnoughError. Costs two requests in one batch.
        """
        anchor, held = self._pool.run(lambda node: _anchor_and_balance(node, order))
        if held < order.units:
            raise NotEnoughError
        return ContractCall(
            owner=order.payer,
            contract=order.token.address,
            data=transfer_data(order.recipient, order.units),
            anchor=anchor,
            timestamp=_milliseconds(now),
            expiration=_milliseconds(min(until, now + VALID_FOR)),
        )

    def prepare_payments(
        self, orders: Sequence[PaymentOrder], *, now: datetime, until: datetime
    ) -> list[PreparedPayment]:
        """Return the one order's call in tronWeb's form, and its bytes. Raises what `prepare` does."""
        [order] = orders
        call = self.prepare(order, now=now, until=until)
        document = call.document()
        valid_until = datetime.fromtimestamp(call.expiration / 1000, UTC)
        return [PreparedPayment(document, call.raw(), tx_hash=document["txID"], valid_until=valid_until)]

    def send(self, raw: bytes, signature: bytes) -> None:
        """Send a transaction's raw bytes with a signature (65 bytes); sending it again does no harm.

        Raises TransactionRefusedError if certainly nothing was sent, SignedOtherwiseError if because the signature is of something
        else, and ChainError if that is unknown.
        """
        code = self._grid.run(lambda node: _broadcast(node, signed(raw, signature)))
        # An account may have given its permission to another key, so the network judges first.
        if code == _WRONG_SIGNATURE and signer_of(hashlib.sha256(raw).digest(), signature) != _owner(raw):
            raise SignedOtherwiseError(code)
        if code not in _SENT:
            raise TransactionRefusedError(code)

    def passed(self, last_height: int) -> datetime | None:
        """Raise NotImplementedError: its payments end by the blocks' time."""
        raise NotImplementedError


def _anchor_and_balance(node: Node, order: PaymentOrder) -> tuple[Anchor, int]:
    owner = contract(order.payer).removeprefix("0x")
    call = {"to": contract(order.token.address), "data": f"{_BALANCE_OF}{owner:0>64}"}
    calls: list[Call] = [("eth_getBlockByNumber", ["latest", False]), ("eth_call", [call, "latest"])]
    block, balance = ask_all(node, calls)
    return _anchor(block), int(_matching(_HASH, balance), 16)


def _anchor(block: Any) -> Anchor:
    if not isinstance(block, dict):
        raise ChainUnavailableError("the node has no block yet")
    height = _matching(_QUANTITY, block.get("number"))
    block_id = _matching(_HASH, block.get("hash"))
    return Anchor(height=int(height, 16), block_id=bytes.fromhex(block_id[2:]))


def _matching(pattern: re.Pattern[str], answer: Any) -> str:
    if not isinstance(answer, str) or not pattern.fullmatch(answer):
        raise MalformedAnswerError("a number or a hash is none")
    return answer


def _broadcast(node: Node, transaction: bytes) -> str:
    answer = node.post("wallet/broadcasthex", {"transaction": transaction.hex()})
    code = answer.get("code") if isinstance(answer, dict) else None
    if not isinstance(code, str) or not re.fullmatch("[A-Z_]{1,64}", code):
        raise MalformedAnswerError("what became of a transaction was not told")
    if code in _UNDECIDED:
        raise ChainUnavailableError(f"{node.label} cannot pass a transaction on: {code}")
    return code


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)
