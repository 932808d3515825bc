"""Permit2 and the standard's proxies at their real addresses on a local chain, and what payers sign for them.

Permit2's code is that of the pinned anvil, which has it where it plays a chain of the family "tempo". The proxies are
stand-ins of our own: `contracts/Permit2Proxy.vy` lists what they lack of the published ABI.
"""

import secrets
import time
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from localnet.abi import encode_call
from localnet.anvil import Anvil, FundedAccount
from localnet.authorizations import DOMAIN
from localnet.funding import PAYER_UNITS, payer
from localnet.published import USDT
from localnet.tokens import artifact, balance_of, deploy_token, execute, mint, read

PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3"
PROXY = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001"
UPTO_PROXY = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002"
MULTICALL3 = "0xcA11bde05977b3631167028862bE2a173976CA11"
EXTRA = {"assetTransferMethod": "permit2"}
SETTLE = "settle(((address,uint256),uint256,uint256),address,(address,uint256),bytes)"
OWN_PERMIT = "(uint256,uint256,bytes32,bytes32,uint8)"
SETTLE_WITH_PERMIT = SETTLE.replace("settle(", f"settleWithPermit({OWN_PERMIT},")
UPTO_SETTLE = "settle(((address,uint256),uint256,uint256),uint256,address,(address,address,uint256),bytes)"
_TYPES = {
    "PermitWitnessTransferFrom": (
        ("permitted", "TokenPermissions"),
        ("spender", "address"),
        ("nonce", "uint256"),
        ("deadline", "uint256"),
        ("witness", "Witness"),
    ),
    "TokenPermissions": (("token", "address"), ("amount", "uint256")),
    "Witness": (("to", "address"), ("validAfter", "uint256")),
}
_UPTO_TYPES = _TYPES | {"Witness": (("to", "address"), ("facilitator", "address"), ("validAfter", "uint256"))}


def lay_usdt(node: Anvil) -> str:
    """Put a token that behaves like the real one at its address, mint the payer a million, and return the address."""
    address = USDT[node.chain_id]
    _lay(node, address, node.code(deploy_token(node, "USDT")))
    if not balance_of(node, address, payer(node).address):
        mint(node, address, payer(node).address, PAYER_UNITS)
    return address


def lay_permit2(node: Anvil) -> None:
    """Put Permit2 and the proxies at their real addresses."""
    _lay(node, PERMIT2, _published(PERMIT2))
    for address, name in ((PROXY, "Permit2Proxy"), (UPTO_PROXY, "UptoPermit2Proxy")):
        _lay(node, address, bytes.fromhex(artifact(name)["runtime"][2:]))


def lay_multicall(node: Anvil) -> None:
    """Put Multicall3 at its real address."""
    _lay(node, MULTICALL3, _published(MULTICALL3))


def allow(node: Anvil, token: str, *, account: FundedAccount | None = None) -> None:
    """Approve Permit2 for an account's whole token balance, as payers do once."""
    who = account or payer(node)
    execute(node, who, token, "approve(address,uint256)", PERMIT2, 2**256 - 1)


@dataclass(frozen=True)
class Permit:
    """What a payer signs for a proxy; `signature` is r, s and v in hex.

    With a `facilitator`, `units` are a maximum, of which only that account moves a part (scheme `upto`).
    """

    payer: str
    token: str
    to: str
    units: int
    nonce: int
    deadline: int
    valid_after: int = 0
    spender: str = PROXY
    signature: str = ""
    facilitator: str = ""

    def witness(self) -> dict[str, Any]:
        """What the proxy adds to what Permit2 knows."""
        told: dict[str, Any] = {"to": self.to, "validAfter": self.valid_after}
        return told | ({"facilitator": self.facilitator} if self.facilitator else {})

    def payload(self) -> dict[str, Any]:
        """The standard's form of it."""
        authorization = {
            "from": self.payer,
            "permitted": {"token": self.token, "amount": str(self.units)},
            "spender": self.spender,
            "nonce": str(self.nonce),
            "deadline": str(self.deadline),
            "witness": self.witness() | {"validAfter": str(self.valid_after)},
        }
        return {"signature": self.signature, "permit2Authorization": authorization}

    def with_own(self, own: dict[str, str]) -> bytes:
        """Return the call of the proxy that lets the token allow Permit2 first, by the token's own permit."""
        permit = ((self.token, self.units), self.nonce, self.deadline)
        raw, given = bytes.fromhex(self.signature[2:]), bytes.fromhex(own["signature"][2:])
        first = (int(own["amount"]), int(own["deadline"]), given[:32], given[32:64], given[64])
        return encode_call(SETTLE_WITH_PERMIT, first, permit, self.payer, (self.to, self.valid_after), raw)

    def call(self) -> bytes:
        """Return the call of the proxy that carries it out."""
        permit = ((self.token, self.units), self.nonce, self.deadline)
        witness = (self.to, self.valid_after)
        raw = bytes.fromhex(self.signature[2:])
        return encode_call(SETTLE, permit, self.payer, witness, raw)

    def call_for(self, units: int) -> bytes:
        """Return the call of the proxy for `upto` that moves so much of it."""
        permit = ((self.token, self.units), self.nonce, self.deadline)
        witness = (self.to, self.facilitator, self.valid_after)
        raw = bytes.fromhex(self.signature[2:])
        return encode_call(UPTO_SETTLE, permit, units, self.payer, witness, raw)


def permit(
    node: Anvil, token: str, to: str, units: int, *, account: FundedAccount | None = None, **changes: Any
) -> Permit:
    """Sign a permit of the node's payer that holds for five minutes."""
    who = account or payer(node)
    unsigned = Permit(
        payer=who.address, token=token, to=to, units=units, nonce=secrets.randbits(256), deadline=int(time.time()) + 300
    )
    return sign_permit(node, replace(unsigned, **changes), who)


def own_permit(node: Anvil, told: Permit, account: FundedAccount, **changes: Any) -> dict[str, str]:
    """Sign the token's own permit (EIP-2612), which allows Permit2 what a permit moves, as the standard's extension has it.

    The token is named as USDC is; `changes` are of what is signed.
    """
    from eth_account import Account

    fields = {"owner": "address", "spender": "address", "value": "uint256", "nonce": "uint256", "deadline": "uint256"}
    message = {
        "owner": account.address,
        "spender": PERMIT2,
        "value": told.units,
        "nonce": int(read(node, told.token, "nonces(address)", account.address), 16),
        "deadline": told.deadline,
    } | changes
    signed = Account.sign_typed_data(
        account.key,
        domain_data={**DOMAIN, "chainId": node.chain_id, "verifyingContract": told.token},
        message_types={"Permit": [{"name": name, "type": kind} for name, kind in fields.items()]},
        message_data=message,
    )
    return {
        "from": str(message["owner"]),
        "asset": told.token,
        "spender": str(message["spender"]),
        "amount": str(message["value"]),
        "nonce": str(message["nonce"]),
        "deadline": str(message["deadline"]),
        "signature": "0x" + bytes(signed.signature).hex(),
        "version": "1",
    }


def sign_permit(node: Anvil, told: Permit, account: FundedAccount) -> Permit:
    """Sign it with an account's key."""
    # Slow to import, and not every user signs.
    from eth_account import Account

    types = _UPTO_TYPES if told.facilitator else _TYPES
    signed = Account.sign_typed_data(
        account.key,
        domain_data={"name": "Permit2", "chainId": node.chain_id, "verifyingContract": PERMIT2},
        message_types={
            name: [{"name": field, "type": kind} for field, kind in fields] for name, fields in types.items()
        },
        message_data={
            "permitted": {"token": told.token, "amount": told.units},
            "spender": told.spender,
            "nonce": told.nonce,
            "deadline": told.deadline,
            "witness": told.witness(),
        },
    )
    return replace(told, signature="0x" + bytes(signed.signature).hex())


def _lay(node: Anvil, address: str, code: bytes) -> None:
    node.rpc("anvil_setCode", address, "0x" + code.hex())


@cache
def _published(address: str) -> bytes:
    with Anvil(1, extra=("--network", "tempo")) as node:
        return node.code(address)
