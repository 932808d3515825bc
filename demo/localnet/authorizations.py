"""USDC at its real address on a local chain, and authorisations of its holders (EIP-3009).

Published x402 clients pay with the tokens that they know, by address, and no others.
"""

import secrets
import time
from dataclasses import dataclass, replace
from typing import Any

from demo.localnet.abi import encode_call
from demo.localnet.anvil import (
    Anvil,
    FundedAccount,
)
from demo.localnet.funding import (
    PAYER_UNITS,
    payer,
)
from demo.localnet.tokens import (
    artifact,
    balance_of,
    mint,
)
from wallets.chains.specs import CHAINS

DOMAIN = {"name": "USD Coin", "version": "2"}
TRANSFER = (
    "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,"
    "uint8,bytes32,bytes32)"
)
_FIELDS = (
    ("from", "address"),
    ("to", "address"),
    ("value", "uint256"),
    ("validAfter", "uint256"),
    ("validBefore", "uint256"),
    ("nonce", "bytes32"),
)


def real_usdc(chain_id: int) -> str:
    """Where the chain's real USDC is."""
    return next(
        chain.mainnet.tokens["USDC"]
        for chain in CHAINS
        if chain.mainnet.chain_id == chain_id
    )


def lay_usdc(node: Anvil) -> str:
    """Lay a token with the real one's ways at its address, give the payer a million, and return the address."""
    address = real_usdc(node.chain_id)
    node.rpc("anvil_setCode", address, artifact("Usdc")["runtime"])
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
        """The call of the token that carries it out, for whoever wants to."""
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
    **changes: Any,
) -> Authorization:
    """Sign an authorisation of the node's payer that holds for five minutes."""
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
    return sign(node, replace(unsigned, **changes), who)


def sign(node: Anvil, told: Authorization, account: FundedAccount) -> Authorization:
    """Sign it with an account's key, for the chain's real USDC."""
    # Slow to import, and not every user signs.
    from eth_account import Account

    message = told.payload()["authorization"]
    signed = Account.sign_typed_data(
        account.key,
        domain_data=DOMAIN
        | {"chainId": node.chain_id, "verifyingContract": real_usdc(node.chain_id)},
        message_types={
            "TransferWithAuthorization": [
                {"name": name, "type": kind} for name, kind in _FIELDS
            ]
        },
        message_data=message
        | {name: int(message[name]) for name in ("value", "validAfter", "validBefore")}
        | {"nonce": bytes.fromhex(told.nonce[2:])},
    )
    return replace(told, signature="0x" + bytes(signed.signature).hex())
