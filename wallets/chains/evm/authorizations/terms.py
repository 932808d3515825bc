"""What a payer signs for a token that takes authorisations, and why a token would refuse it."""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from wallets.chains.evm.authorizations import contracts
from wallets.chains.evm.authorizations.contracts import Call, Function
from wallets.chains.evm.proofs import Types, typed_digest
from wallets.chains.family import ChainSpec, TokenDomain

TYPES: Final[Types] = {
    "TransferWithAuthorization": {
        "from": "address",
        "to": "address",
        "value": "uint256",
        "validAfter": "uint256",
        "validBefore": "uint256",
        "nonce": "bytes32",
    }
}
"""The struct that is signed (EIP-3009)."""

DOMAIN_FIELDS: Final = {"name": "string", "version": "string", "chainId": "uint256", "verifyingContract": "address"}
"""The fields of such a token's own domain (EIP-712), in their order."""

_PRIMARY: Final = next(iter(TYPES))
_TERMS: Final = tuple(TYPES[_PRIMARY].values())

BY_KEY: Final = Function("transferWithAuthorization", (*_TERMS, "uint8", "bytes32", "bytes32"))
"""With a key's signature, in its three parts."""

BY_WALLET: Final = Function("transferWithAuthorization", (*_TERMS, "bytes"))
"""With the signature of a wallet that is a contract, which judges it itself (FiatTokenV2_2)."""


class Refusal(StrEnum):
    """Why a token would not carry out an authorisation."""

    NO_DOMAIN = "nobody says how the token names itself in signatures"
    EARLY = "its time has not come"
    LATE = "its time is over"
    USED = "it was used, or its payer cancelled it"
    FUNDS = "the payer holds less"
    SIGNATURE = "the payer did not sign it"
    UNREADABLE = "the signature has no known form"
    NO_WALLET = "the payer's wallet is not deployed"
    FACTORY = "the payer's wallet is not deployed, and the signature asks to deploy it"
    NOT_DEPLOYED = "there is no token"
    UNSUPPORTED = "the token takes no authorisations"
    NAME = "the token names itself otherwise"
    VERSION = "the token's version is another one"
    GAS = "it takes more gas than is paid for here"
    UNKNOWN = "the call fails, and the token does not say why"
    REVERTED = "the token refuses it in words of its own"


@dataclass(frozen=True, slots=True)
class TransferAuthorization:
    """One transfer that its payer signs: `units` of a token (its contract in EIP-55) from `payer` to `recipient`.

    The token accepts it from after `valid_after` until before `valid_before`, both Unix times in seconds, and `nonce` (32
    bytes) of a payer once. `domain` is how the token names itself, None if that is not known. `signature` is r, s and v of
    a key, or what a contract wallet takes, perhaps wrapped (ERC-6492); empty until it is signed.
    """

    spec: ChainSpec
    token: str
    domain: TokenDomain | None
    payer: str
    recipient: str
    units: int
    valid_after: int
    valid_before: int
    nonce: bytes
    signature: bytes = b""

    def signed_by(self, signature: bytes) -> "TransferAuthorization":
        """Return the same with its signature."""
        return replace(self, signature=signature)

    def typed(self) -> dict[str, Any]:
        """Return EIP-712's object as wallets take it; amounts are texts, which JavaScript does not round.

        It describes its domain: without that some wallets sign an empty one.
        """
        types = {"EIP712Domain": DOMAIN_FIELDS, **TYPES}
        told = {name: str(value) if isinstance(value, int) else value for name, value in self._message().items()}
        return {
            "types": {
                name: [{"name": field, "type": kind} for field, kind in fields.items()]
                for name, fields in types.items()
            },
            "primaryType": _PRIMARY,
            "domain": self._named(),
            "message": told,
        }

    def digest(self) -> bytes:
        """Return the 32 bytes that are signed. Raises ValueError for a value that its type does not hold."""
        return typed_digest(TYPES, self._named(), self._message())

    def is_of_key(self) -> bool:
        """Whether the payer's key made the signature; a contract wallet's is judged by the wallet itself."""
        try:
            return contracts.is_of_key(self.payer, self.digest(), self.signature)
        except ValueError:
            return False

    def call(self) -> Call:
        """Return the call of the token that carries it out, whoever sends it. Raises ValueError if the wrapping is malformed."""
        terms = (self.payer, self.recipient, self.units, self.valid_after, self.valid_before, self.nonce)
        inner = contracts.unwrapped(self.signature).inner
        if len(inner) != contracts.KEY_BYTES:
            return Call(self.token, BY_WALLET.call(*terms, inner))
        r, s, v = contracts.parts_of(inner)
        return Call(self.token, BY_KEY.call(*terms, v, r, s))

    def _named(self) -> dict[str, Any]:
        domain = self.domain or TokenDomain("", "")
        return {
            "name": domain.name,
            "version": domain.version,
            "chainId": self.spec.chain_id or 0,
            "verifyingContract": self.token,
        }

    def _message(self) -> dict[str, Any]:
        return {
            "from": self.payer,
            "to": self.recipient,
            "value": self.units,
            "validAfter": self.valid_after,
            "validBefore": self.valid_before,
            "nonce": f"0x{self.nonce.hex()}",
        }
