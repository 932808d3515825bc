"""The keys of GAS_KEYS_SOLANA. They only pay for machines' transactions."""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from django.conf import settings

from settlements.gas.keys import GasKeyError


class SolanaGasKey:
    """One gas key. No message contains it."""

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
    """Return the keys by address; empty if none is set. Raises GasKeyError."""
    return _loaded(tuple(settings.GAS_KEYS_SOLANA))


@lru_cache(maxsize=4)
def _loaded(secrets: tuple[str, ...]) -> Mapping[str, SolanaGasKey]:
    keys = [SolanaGasKey(secret) for secret in secrets]
    return MappingProxyType({key.address: key for key in keys})
