"""USDC and EURC at their real addresses on a local chain, and authorisations of their holders (EIP-3009)."""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from localnet.abi import encode_call, keccak
from localnet.anvil import Anvil, FundedAccount
from localnet.funding import PAYER_UNITS, payer
from localnet.published import EURC, USDC
from localnet.tokens import artifact, balance_of, mint

DOMAIN = {"name": "USD Coin", "version": "2"}
EURO_DOMAIN = {"name": "EURC", "version": "2"}
TRANSFER = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"
RECEIVE = TRANSFER.replace("transfer", "receive")
CANCEL = "cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)"
_Kinds = dict[str, tuple[tuple[str, str], ...]]
_FIELDS = (
    ("from", "address"),
    ("to", "address"),
    ("value", "uint256"),
    ("validAfter", "uint256"),
    ("validBefore", "uint256"),
    ("nonce", "bytes32"),
)


def by_bytes(function: str) -> str:
    """The function of the same name that takes the signature as bytes."""
    return function.replace("uint8,bytes32,bytes32)", "bytes)")


def lay_usdc(node: Anvil) -> str:
    """Put a token that behaves like the real one at its address, mint the payer a million, and return the address."""
    return _lay(node, USDC[node.chain_id], artifact("Usdc")["runtime"])


def lay_eurc(node: Anvil) -> str:
    """Put the same contract at EURC's address, under EURC's name, mint the payer a million, and return the address."""
    runtime = artifact("Usdc")["runtime"]
    for own, other in (
        (_told("USD Coin"), _told("EURC")),
        (_told("USDC"), _told("EURC")),
        (keccak(b"USD Coin").hex(), keccak(b"EURC").hex()),
    ):
        if runtime.count(own) != 1:
            raise ValueError("The contract was compiled in another way.")
        runtime = runtime.replace(own, other)
    return _lay(node, EURC[node.chain_id], runtime)


def _told(text: str) -> str:
    """How the code writes a constant text to memory: its length, then its 32 bytes."""
    return f"60{len(text):02x}6040527f{text.encode().hex().ljust(64, '0')}"


def _lay(node: Anvil, address: str, runtime: str) -> str:
    node.rpc("anvil_setCode", address, runtime)
    if not balance_of(node, address, payer(node).address):
        mint(node, address, payer(node).address, PAYER_UNITS)
    return address


@dataclass(frozen=True)
class Authorization:
    """What a payer signs; `signature` is r, s and v in hex."""

    payer: str
    to: str
    units: int
    valid_after: int
    valid_before: int
    nonce: str
    signature: str = ""

    def payload(self) -> dict[str, Any]:
        """The standard's form of it."""
        authorization = {
            "from": self.payer,
            "to": self.to,
            "value": str(self.units),
            "validAfter": str(self.valid_after),
            "validBefore": str(self.valid_before),
            "nonce": self.nonce,
        }
        return {"signature": self.signature, "authorization": authorization}

    def call(self) -> bytes:
        """Return the call of the token that carries it out."""
        raw = bytes.fromhex(self.signature[2:])
        return encode_call(
            TRANSFER,
            *(self.payer, self.to, self.units, self.valid_after, self.valid_before),
            bytes.fromhex(self.nonce[2:]),
            *(raw[64], raw[:32], raw[32:64]),
        )


def authorize(
    node: Anvil,
    to: str,
    units: int,
    *,
    account: FundedAccount | None = None,
    kind: str = "TransferWithAuthorization",
    domain: Mapping[str, str] | None = None,
    **changes: Any,
) -> Authorization:
    """Sign an authorisation of the node's payer that holds for five minutes; `kind` says for which function.

    `domain` is the token's, without its chain; USDC's unless named.
    """
    who = account or payer(node)
    now = int(time.time())
    unsigned = Authorization(
        payer=who.address,
        to=to,
        units=units,
        valid_after=now - 600,
        valid_before=now + 300,
        nonce="0x" + secrets.token_hex(32),
    )
    return sign(node, replace(unsigned, **changes), who, kind=kind, domain=domain)


def sign(
    node: Anvil,
    told: Authorization,
    account: FundedAccount,
    *,
    kind: str = "TransferWithAuthorization",
    domain: Mapping[str, str] | None = None,
) -> Authorization:
    """Sign it with an account's key, for the chain's real USDC or the token of a domain."""
    message = told.payload()["authorization"]
    message |= {name: int(message[name]) for name in ("value", "validAfter", "validBefore")}
    return _signed(node, told, account, {kind: _FIELDS}, message, domain)


def sign_cancel(node: Anvil, told: Authorization, account: FundedAccount) -> Authorization:
    """Sign that an authorisation is cancelled; the signature is the answer's."""
    kinds: _Kinds = {"CancelAuthorization": (("authorizer", "address"), ("nonce", "bytes32"))}
    message = {"authorizer": told.payer, "nonce": told.nonce}
    return _signed(node, told, account, kinds, message)


def euro_domain(node: Anvil) -> dict[str, str]:
    """EURC's domain for `authorize` and `sign`."""
    return EURO_DOMAIN | {"verifyingContract": EURC[node.chain_id]}


def _signed(
    node: Anvil,
    told: Authorization,
    account: FundedAccount,
    kinds: _Kinds,
    message: dict[str, Any],
    domain: Mapping[str, str] | None = None,
) -> Authorization:
    # Slow to import, and not every user signs.
    from eth_account import Account

    signed = Account.sign_typed_data(
        account.key,
        domain_data={**(domain or DOMAIN | {"verifyingContract": USDC[node.chain_id]}), "chainId": node.chain_id},
        message_types={kind: [{"name": name, "type": of} for name, of in fields] for kind, fields in kinds.items()},
        message_data=message | {"nonce": bytes.fromhex(told.nonce[2:])},
    )
    return replace(told, signature="0x" + bytes(signed.signature).hex())
