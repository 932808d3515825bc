"""Builds the transaction that pays a checkout on Tron, for the payer's wallet to sign. No node is asked here.

The message is `Transaction.raw` of tron.proto (https://github.com/tronprotocol/protocol), defined in tronpy; its SHA-256 is
the transaction's id and is signed.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from wallets.chains.tron.address import address_key

FEE_LIMIT: Final = 100_000_000
"""The highest fee in sun (millionths of a TRX): several times the cost of USDT for a recipient who never held any."""

_TYPE_URL: Final = "type.googleapis.com/protocol.TriggerSmartContract"
# First four bytes of keccak256("transfer(address,uint256)").
_TRANSFER: Final = bytes.fromhex("a9059cbb")
_PREFIX: Final = b"\x41"


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
    return _PREFIX + address_key(address)
