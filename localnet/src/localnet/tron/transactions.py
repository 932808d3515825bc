"""Taking signed transactions as java-tron does, written without any help from the code under test.

What is checked is what a page and its server could get wrong: the bytes, the block they name, the times, who signed. Then
the signer's call is made on the anvil behind; its transaction id is therefore another one there.
"""

import hashlib
import time
from collections.abc import Iterator
from typing import Any

from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature
from eth_utils.exceptions import ValidationError

from localnet.anvil import Anvil
from localnet.errors import NodeError

TYPE_URL = b"type.googleapis.com/protocol.TriggerSmartContract"
TRIGGER_SMART_CONTRACT = 31
DAY_MS = 86_400_000
GAS = 1_000_000

Fields = dict[int, Any]


class InvalidTransactionError(Exception):
    """It is not taken; the message is java-tron's code."""


def fields_of(message: bytes) -> Fields:
    """The fields of a protocol buffers message by number, the last of each. Raises InvalidTransactionError."""
    return dict(_fields(message))


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    rest = message
    while rest:
        tag, rest = _varint(rest)
        if tag & 7 == 0:
            value, rest = _varint(rest)
            yield tag >> 3, value
        elif tag & 7 == 2:
            size, rest = _varint(rest)
            if size > len(rest):
                raise InvalidTransactionError("OTHER_ERROR")
            yield tag >> 3, rest[:size]
            rest = rest[size:]
        else:
            raise InvalidTransactionError("OTHER_ERROR")


def _varint(data: bytes) -> tuple[int, bytes]:
    value = 0
    for place, byte in enumerate(data[:10]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, data[place + 1 :]
    raise InvalidTransactionError("OTHER_ERROR")


class Mempool:
    """Takes transactions for an anvil."""

    def __init__(self, anvil: Anvil) -> None:
        self._anvil = anvil
        # By their ids, the hashes by which the anvil knows them.
        self._taken: dict[str, str] = {}

    def take(self, transaction: bytes) -> str:
        """Take a signed transaction and return its id. Raises InvalidTransactionError."""
        outer = fields_of(transaction)
        raw: bytes = outer[1]
        tx_id = hashlib.sha256(raw).digest()
        if self._has(tx_id.hex()):
            raise InvalidTransactionError("DUP_TRANSACTION_ERROR")
        fields = fields_of(raw)
        self._check_block(fields)
        self._check_times(fields)
        contract = fields_of(fields[11])
        parameter = fields_of(contract[2])
        if (contract[1], parameter[1]) != (TRIGGER_SMART_CONTRACT, TYPE_URL):
            raise InvalidTransactionError("CONTRACT_VALIDATE_ERROR")
        call = fields_of(parameter[2])
        if call[1] != b"\x41" + _signer(tx_id, outer[2]):
            raise InvalidTransactionError("SIGERROR")
        self._taken[tx_id.hex()] = self._execute(call)
        return tx_id.hex()

    def _has(self, tx_id: str) -> bool:
        """Whether a block has the transaction: a reorg may have removed the one that had it."""
        known = self._taken.get(tx_id)
        return known is not None and self._anvil.rpc("eth_getTransactionReceipt", known) is not None

    def _check_block(self, fields: Fields) -> None:
        height = int.from_bytes(fields[1], "big")
        try:
            named = bytes.fromhex(self._anvil.block(height)["hash"][2:])
        except (NodeError, TypeError):
            raise InvalidTransactionError("TAPOS_ERROR") from None
        if named[8:16] != fields[4]:
            raise InvalidTransactionError("TAPOS_ERROR")

    def _check_times(self, fields: Fields) -> None:
        now = time.time() * 1000
        if not now < fields[8] < now + DAY_MS:
            raise InvalidTransactionError("TRANSACTION_EXPIRATION_ERROR")
        if not 0 < fields.get(18, 0) <= 15_000_000_000:
            raise InvalidTransactionError("CONTRACT_VALIDATE_ERROR")

    def _execute(self, call: Fields) -> str:
        owner, contract = (f"0x{call[number][1:].hex()}" for number in (1, 2))
        self._anvil.rpc("anvil_impersonateAccount", owner)
        wanted = {"from": owner, "to": contract, "data": f"0x{call[4].hex()}", "gas": hex(GAS)}
        try:
            tx_hash: str = self._anvil.rpc("eth_sendTransaction", wanted)
            # A reverted transfer is in a block too, and moves nothing.
            self._anvil.receipt(tx_hash)
        finally:
            self._anvil.rpc("anvil_stopImpersonatingAccount", owner)
        return tx_hash


def _signer(tx_id: bytes, signature: bytes) -> bytes:
    """Return the signer's 20 bytes. Wallets write the last byte as 0 or 1, or as 27 or 28."""
    recovery = signature[64] - 27 if signature[64] >= 27 else signature[64]
    try:
        signed = Signature(signature[:64] + bytes([recovery]))
        return bytes(signed.recover_public_key_from_msg_hash(tx_id).to_canonical_address())
    except (BadSignature, ValidationError):
        raise InvalidTransactionError("SIGERROR") from None
