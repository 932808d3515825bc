"""Payments on Base that are good, or bad in one way each."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from localnet.abi import encode_arguments
from localnet.anvil import Anvil
from localnet.authorizations import authorize, sign
from localnet.funding import payer
from localnet.permit2 import PERMIT2, PROXY, UPTO_PROXY, allow, permit, sign_permit
from localnet.smart_wallet import by_wallet, deploy_wallet
from localnet.tokens import execute, mint
from x402.exact.evm import permit2

UNITS: Final = 10_000
ERC6492: Final = "6492" * 16
# The order of the curve; with s it makes the other one of two signatures.
ORDER: Final = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


@dataclass(frozen=True)
class Case:
    """A Base with USDC, and a merchant who is paid there."""

    node: Anvil
    usdc: str
    to: str


def plain(case: Case, **changes: Any) -> Any:
    return authorize(case.node, case.to, UNITS, **changes)


def of_another(case: Case) -> Any:
    return sign(case.node, plain(case), case.node.accounts[7])


def counted_from_zero(case: Case) -> Any:
    told = plain(case)
    v = int(told.signature[-2:], 16) - 27
    return replace(told, signature=f"{told.signature[:-2]}{v:02x}")


def of_no_point(case: Case) -> Any:
    told = plain(case)
    return replace(told, signature=f"{told.signature[:-2]}05")


def turned_over(case: Case) -> Any:
    told = plain(case)
    raw = bytes.fromhex(told.signature[2:])
    s = ORDER - int.from_bytes(raw[32:64], "big")
    v = {27: 28, 28: 27}[raw[64]]
    return replace(told, signature=f"0x{raw[:32].hex()}{s:064x}{v:02x}")


def not_yet(case: Case) -> Any:
    return plain(case, valid_after=int(time.time()) + 200)


def used(case: Case) -> Any:
    """By a payer's own transaction, to somebody else: nothing that was paid here explains it."""
    told = plain(case)
    elsewhere = sign(case.node, replace(told, to=case.node.accounts[6].address), payer(case.node))
    case.node.send(case.node.accounts[5], to=case.usdc, data=elsewhere.call())
    return told


def too_much(case: Case) -> Any:
    poor = case.node.accounts[6]
    mint(case.node, case.usdc, poor.address, UNITS - 1)
    return plain(case, account=poor)


def wallet_of(case: Case) -> str:
    wallet = deploy_wallet(case.node, payer(case.node))
    mint(case.node, case.usdc, wallet, UNITS)
    return wallet


def by_a_contract(case: Case, *, owner: int = 1) -> Any:
    told = replace(plain(case), payer=wallet_of(case))
    return by_wallet(sign(case.node, told, case.node.accounts[owner]))


def by_a_contract_of_another(case: Case) -> Any:
    return by_a_contract(case, owner=7)


def to_be_made(case: Case) -> Any:
    return wrapped(by_no_contract(case), PERMIT2, b"make")


def by_no_contract(case: Case) -> Any:
    told = replace(plain(case), payer=case.node.accounts[8].address)
    return by_wallet(sign(case.node, told, payer(case.node)))


def made_already(case: Case) -> Any:
    return wrapped(by_a_contract(case), PERMIT2, b"make")


def wrapped_in_nothing(case: Case) -> Any:
    return wrapped(plain(case), "0x" + "00" * 20, b"")


def wrapped_badly(case: Case) -> Any:
    told = plain(case)
    return replace(told, signature=f"{told.signature}{ERC6492}")


def wrapped(told: Any, factory: str, calldata: bytes) -> Any:
    """As wallets sign that are to be deployed first (ERC-6492)."""
    kinds, inner = ["address", "bytes", "bytes"], bytes.fromhex(told.signature[2:])
    data = encode_arguments(kinds, factory, calldata, inner)
    return replace(told, signature=f"0x{data.hex()}{ERC6492}")


AUTHORISATIONS: Final[tuple[Callable[[Case], Any], ...]] = (
    plain,
    of_another,
    counted_from_zero,
    of_no_point,
    not_yet,
    used,
    too_much,
    by_a_contract,
    by_a_contract_of_another,
    to_be_made,
    by_no_contract,
    made_already,
    wrapped_in_nothing,
    wrapped_badly,
)


def permitted(case: Case, **changes: Any) -> Any:
    allow(case.node, case.usdc)
    return permit(case.node, case.usdc, case.to, UNITS, **changes)


def permit_of_another(case: Case) -> Any:
    told = permitted(case, account=case.node.accounts[7])
    return replace(told, payer=payer(case.node).address)


def permit_not_yet(case: Case) -> Any:
    return permitted(case, valid_after=int(time.time()) + 200)


def permit_not_allowed(case: Case) -> Any:
    poor = case.node.accounts[6]
    mint(case.node, case.usdc, poor.address, UNITS)
    return permit(case.node, case.usdc, case.to, UNITS, account=poor)


def permit_too_much(case: Case) -> Any:
    told = permit_not_allowed(case)
    allow(case.node, case.usdc, account=case.node.accounts[6])
    return permit(case.node, case.usdc, told.to, 2 * UNITS, account=case.node.accounts[6])


def permit_of_no_point(case: Case) -> Any:
    told = permitted(case)
    return replace(told, signature=f"{told.signature[:-2]}05")


def permit_by_no_contract(case: Case) -> Any:
    return by_wallet(permitted(case))


PERMITS: Final[tuple[Callable[[Case], Any], ...]] = (
    permitted,
    permit_of_another,
    permit_not_yet,
    permit_not_allowed,
    permit_too_much,
    permit_of_no_point,
    permit_by_no_contract,
)


def maximum(case: Case, **changes: Any) -> Any:
    named: dict[str, Any] = {"facilitator": case.node.accounts[3].address, "spender": UPTO_PROXY}
    return permitted(case, **(named | changes))


def maximum_for_another(case: Case) -> Any:
    return maximum(case, facilitator=case.node.accounts[7].address)


def maximum_of_the_other_contract(case: Case) -> Any:
    return maximum(case, spender=PROXY)


def maximum_of_another(case: Case) -> Any:
    told = maximum(case, account=case.node.accounts[7])
    return replace(told, payer=payer(case.node).address)


def maximum_too_late(case: Case) -> Any:
    return maximum(case, deadline=int(time.time()) + 2)


def maximum_not_yet(case: Case) -> Any:
    return maximum(case, valid_after=int(time.time()) + 200)


def maximum_not_allowed(case: Case) -> Any:
    poor = case.node.accounts[6]
    mint(case.node, case.usdc, poor.address, UNITS)
    return maximum(case, account=poor)


def maximum_too_much(case: Case) -> Any:
    told = maximum_not_allowed(case)
    allow(case.node, case.usdc, account=case.node.accounts[6])
    return sign_permit(case.node, replace(told, units=2 * UNITS), case.node.accounts[6])


MAXIMUMS: Final[tuple[Callable[[Case], Any], ...]] = (
    maximum,
    maximum_for_another,
    maximum_of_the_other_contract,
    maximum_of_another,
    maximum_too_late,
    maximum_not_yet,
    maximum_not_allowed,
    maximum_too_much,
)


def take_back(case: Case, told: Any) -> None:
    """Use a permit's number up without paying anybody."""
    word, bit = divmod(told.nonce, 256)
    signature = "invalidateUnorderedNonces(uint256,uint256)"
    execute(case.node, payer(case.node), PERMIT2, signature, word, 1 << bit)


def take_proxy_away(case: Case, told: Any) -> None:
    del told
    case.node.rpc("anvil_setCode", permit2.PROXY, "0x")
