"""Writing the transaction that pays a checkout on Tron, for the payer's wallet to sign. No node is asked here.

The message is `Transaction.raw` of tron.proto (https://github.com/tronprotocol/protocol), whose SHA-256 is both the
transaction's id and what is signed.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

from wallets.addresses import address_key
from wallets.chains.specs import Family

FEE_LIMIT: Final = 100_000_000
"""The most sun (millionths of a TRX) the payer may lose: several times what USDT costs to one who never held any."""

_TYPE_URL: Final = "type.googleapis.com/protocol.TriggerSmartContract"
_TRIGGER_SMART_CONTRACT: Final = 31
# First four bytes of keccak256("transfer(address,uint256)").
_TRANSFER: Final = bytes.fromhex("a9059cbb")
_PREFIX: Final = b"\x41"
# The wire types of protocol buffers.
_VARINT: Final = 0
_BYTES: Final = 2


@dataclass(frozen=True, slots=True)
class Anchor:
    """The block a transaction names, so that it is of no use on another chain; `block_id` is 32 bytes."""

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
        """Return the bytes that are hashed and signed, in the order of their fields as java-tron writes them."""
        return b"".join(
            [
                _bytes(1, self._ref_block_bytes),
                _bytes(4, self._ref_block_hash),
                _number(8, self.expiration),
                _bytes(11, self._contract_message()),
                _number(14, self.timestamp),
                _number(18, self.fee_limit),
            ]
        )

    def document(self) -> dict[str, Any]:
        """Return the transaction as tronWeb has it, which wallets compare with the bytes."""
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

    def _contract_message(self) -> bytes:
        value = (
            _bytes(1, _key(self.owner))
            + _bytes(2, _key(self.contract))
            + _bytes(4, self.data)
        )
        parameter = _bytes(1, _TYPE_URL.encode()) + _bytes(2, value)
        return _number(1, _TRIGGER_SMART_CONTRACT) + _bytes(2, parameter)


def transfer_data(recipient: str, units: int) -> bytes:
    """Return the call of a token that moves `units` base units to a base58 address."""
    to = address_key(recipient, family=Family.TRON)
    return _TRANSFER + to.rjust(32, b"\0") + units.to_bytes(32, "big")


def signed(raw: bytes, signature: bytes) -> bytes:
    """Return the whole `Transaction`: its raw bytes and the payer's signature."""
    return _bytes(1, raw) + _bytes(2, signature)


def _key(address: str) -> bytes:
    return _PREFIX + address_key(address, family=Family.TRON)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    groups = [value & 0x7F]
    while value := value >> 7:
        groups.append(value & 0x7F)
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])
