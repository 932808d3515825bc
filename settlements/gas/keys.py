"""The configured gas keys, of EVM chains and of Solana. They only pay for gas; without one everything else works."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from django.conf import settings

from settlements.gas.fees import Fees


class GasKeyError(Exception):
    """A gas key is invalid. The message never quotes it."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A transaction to sign: `to` in EIP-55, `data` as bytes, `gas_limit` in gas, and its account's `nonce`."""

    chain_id: int
    nonce: int
    to: str
    data: bytes
    gas_limit: int
    fees: Fees


@dataclass(frozen=True, slots=True)
class SignedDraft:
    """A signed transaction: its hash as 0x and hex, and the bytes that a node is sent."""

    tx_hash: str
    raw: bytes


class GasKey:
    """One gas key of EVM chains. No message contains it."""

    def __init__(self, private_key: str) -> None:
        """Read 32 bytes in hex. Raises GasKeyError."""
        from eth_account import Account  # slow to import, and few processes sign

        try:
            self._account = Account.from_key(private_key)
        except Exception:  # noqa: BLE001 - several libraries' errors, some of which quote the key
            raise GasKeyError("a gas key is not a private key in hex") from None
        self.address: str = self._account.address

    def sign(self, draft: Draft) -> SignedDraft:
        """Sign an EIP-1559 transaction that carries no coin."""
        fields: dict[str, Any] = {
            "type": 2,
            "chainId": draft.chain_id,
            "nonce": draft.nonce,
            "to": draft.to,
            "data": "0x" + draft.data.hex(),
            "value": 0,
            "gas": draft.gas_limit,
            "maxFeePerGas": draft.fees.max_fee,
            "maxPriorityFeePerGas": draft.fees.priority_fee,
        }
        signed = self._account.sign_transaction(fields)
        return SignedDraft("0x" + bytes(signed.hash).hex(), bytes(signed.raw_transaction))


def gas_keys() -> Mapping[str, GasKey]:
    """Return the keys of GAS_KEYS by address; empty if none is set. Raises GasKeyError."""
    return _loaded(tuple(settings.GAS_KEYS))


@lru_cache(maxsize=4)
def _loaded(private_keys: tuple[str, ...]) -> Mapping[str, GasKey]:
    keys = [GasKey(private_key) for private_key in private_keys]
    return MappingProxyType({key.address: key for key in keys})


class SolanaGasKey:
    """One gas key of Solana. No message contains it."""

    def __init__(self, secret: str) -> None:
        """Read 64 bytes in base58, as wallets export a key. Raises GasKeyError."""
        from solders.keypair import Keypair  # slow to import, and few processes sign

        try:
            self._keypair = Keypair.from_base58_string(secret)
        except BaseException:  # noqa: BLE001 - the library panics over some texts, and quotes others
            raise GasKeyError("a key is not 64 bytes in base58") from None
        self.address = str(self._keypair.pubkey())

    def sign(self, message: bytes) -> bytes:
        """Return the 64 bytes of a signature; it is deterministic."""
        return bytes(self._keypair.sign_message(message))


def solana_gas_keys() -> Mapping[str, SolanaGasKey]:
    """Return the keys of GAS_KEYS_SOLANA by address; empty if none is set. Raises GasKeyError."""
    return _loaded_solana(tuple(settings.GAS_KEYS_SOLANA))


@lru_cache(maxsize=4)
def _loaded_solana(secrets: tuple[str, ...]) -> Mapping[str, SolanaGasKey]:
    keys = [SolanaGasKey(secret) for secret in secrets]
    return MappingProxyType({key.address: key for key in keys})
