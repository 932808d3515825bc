"""tronpy's keys and protocol messages, on every Python that Florin supports. Slow to import: about a second.

Import tronpy from here, never directly. It signs with coincurve, which has no wheels for Python 3.14. There eth_keys' pure
Python arithmetic replaces coincurve: the same bytes, in milliseconds instead of microseconds.
"""

import sys
from types import ModuleType
from typing import Any, Self

from eth_keys.datatypes import NonRecoverableSignature, Signature
from eth_keys.datatypes import PrivateKey as EthPrivateKey
from eth_keys.datatypes import PublicKey as EthPublicKey
from eth_keys.utils.der import two_int_sequence_decoder


class _PublicKey:
    """The part of coincurve.PublicKey that tronpy uses. `hasher` is None there: messages are hashes."""

    def __init__(self, data: bytes) -> None:
        self._key = EthPublicKey(data[1:])

    @classmethod
    def from_signature_and_message(cls, signature: bytes, message: bytes, *, hasher: None) -> Self:
        key = Signature(signature).recover_public_key_from_msg_hash(message)
        return cls(b"\x04" + key.to_bytes())

    def format(self, *, compressed: bool) -> bytes:
        key = self._key
        return key.to_compressed_bytes() if compressed else b"\x04" + key.to_bytes()

    def verify(self, signature: bytes, message: bytes, *, hasher: None) -> bool:
        r, s = two_int_sequence_decoder(signature)
        return NonRecoverableSignature(rs=(r, s)).verify_msg_hash(message, self._key)


class _PrivateKey:
    """The part of coincurve.PrivateKey that tronpy uses."""

    def __init__(self, secret: bytes) -> None:
        self._key = EthPrivateKey(secret)
        self.public_key = _PublicKey(b"\x04" + self._key.public_key.to_bytes())

    def sign_recoverable(self, message: bytes, *, hasher: None) -> bytes:
        return self._key.sign_msg_hash(message).to_bytes()


def _load_tronpy() -> Any:
    try:
        import coincurve  # noqa: F401
    except ModuleNotFoundError:
        stand_in: Any = ModuleType("coincurve")
        stand_in.PrivateKey, stand_in.PublicKey = _PrivateKey, _PublicKey
        sys.modules["coincurve"] = stand_in
        try:
            import tronpy
        finally:
            # eth_keys looks for coincurve as well, and must not find this replacement.
            del sys.modules["coincurve"]
    import tronpy.proto.tron_pb2

    return tronpy


_tronpy = _load_tronpy()
PrivateKey = _tronpy.keys.PrivateKey
PublicKey = _tronpy.keys.PublicKey
TronSignature = _tronpy.keys.Signature
messages = _tronpy.proto.tron_pb2
