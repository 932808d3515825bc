"""The local USDC moves by signature as Circle's does: transfer, receive and cancel, each by a key and by a contract wallet."""

from dataclasses import replace
from typing import Any

import pytest

from localnet.abi import encode_call, keccak
from localnet.anvil import Anvil, FundedAccount
from localnet.authorizations import (
    CANCEL,
    RECEIVE,
    TRANSFER,
    Authorization,
    authorize,
    by_bytes,
    euro_domain,
    lay_eurc,
    lay_usdc,
    sign,
    sign_cancel,
)
from localnet.errors import NodeError
from localnet.funding import payer
from localnet.smart_wallet import by_wallet, deploy_wallet
from localnet.tokens import balance_of, execute, mint, read

# One worker starts the node.
pytestmark = pytest.mark.xdist_group("anvil")

UNITS = 1_000
USED = "0x" + keccak(b"AuthorizationUsed(address,bytes32)").hex()
CANCELED = "0x" + keccak(b"AuthorizationCanceled(address,bytes32)").hex()
STATE = "authorizationState(address,bytes32)"
OVERLOADS = pytest.mark.parametrize("is_bytes", [False, True], ids=["vrs", "bytes"])
HALF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0
ORDER = 2 * HALF_ORDER + 1


@pytest.fixture
def usdc(base_node: Anvil) -> str:
    return lay_usdc(base_node)


@pytest.fixture
def payee(base_node: Anvil) -> FundedAccount:
    return base_node.accounts[4]


def arguments(told: Authorization, *, is_bytes: bool) -> list[Any]:
    """What a function takes of an authorisation."""
    raw = bytes.fromhex(told.signature[2:])
    terms = [told.payer, told.to, told.units, told.valid_after, told.valid_before]
    nonce = bytes.fromhex(told.nonce[2:])
    signed = [raw] if is_bytes else [raw[64], raw[:32], raw[32:64]]
    return [*terms, nonce, *signed]


def run(
    node: Anvil, account: FundedAccount, token: str, function: str, told: Authorization, *, is_bytes: bool
) -> list[dict[str, Any]]:
    """Call a function with an authorisation; return the logs."""
    name = by_bytes(function) if is_bytes else function
    tx_hash = execute(node, account, token, name, *arguments(told, is_bytes=is_bytes))
    return list(node.receipt(tx_hash)["logs"])


def cancel(node: Anvil, token: str, told: Authorization, *, is_bytes: bool) -> list[dict[str, Any]]:
    raw = bytes.fromhex(told.signature[2:])
    signed = [raw] if is_bytes else [raw[64], raw[:32], raw[32:64]]
    name = by_bytes(CANCEL) if is_bytes else CANCEL
    nonce = bytes.fromhex(told.nonce[2:])
    tx_hash = execute(node, node.accounts[5], token, name, told.payer, nonce, *signed)
    return list(node.receipt(tx_hash)["logs"])


def refusal(node: Anvil, sender: str, token: str, function: str, *given: Any) -> str:
    """What a call says that reverts."""
    call = {"from": sender, "to": token, "data": f"0x{encode_call(function, *given).hex()}"}
    with pytest.raises(NodeError) as caught:
        node.rpc("eth_call", call, "latest")
    return str(caught.value)


def topic(address: str) -> str:
    return "0x" + address[2:].lower().rjust(64, "0")


def is_used(node: Anvil, token: str, told: Authorization) -> bool:
    nonce = bytes.fromhex(told.nonce[2:])
    return bool(int(read(node, token, STATE, told.payer, nonce), 16))


@OVERLOADS
def test_the_payee_takes_what_it_was_given(base_node: Anvil, usdc: str, payee: FundedAccount, is_bytes: bool) -> None:
    told = authorize(base_node, payee.address, UNITS, kind="ReceiveWithAuthorization")
    used, moved = run(base_node, payee, usdc, RECEIVE, told, is_bytes=is_bytes)
    assert used["topics"] == [USED, topic(told.payer), told.nonce]
    assert int(moved["data"], 16) == UNITS
    assert balance_of(base_node, usdc, payee.address) == UNITS
    assert is_used(base_node, usdc, told)


@OVERLOADS
def test_nobody_else_takes_it_nor_as_a_transfer(
    base_node: Anvil, usdc: str, payee: FundedAccount, is_bytes: bool
) -> None:
    told = authorize(base_node, payee.address, UNITS, kind="ReceiveWithAuthorization")
    given = arguments(told, is_bytes=is_bytes)
    receive, transfer = (by_bytes(name) if is_bytes else name for name in (RECEIVE, TRANSFER))
    stranger = base_node.accounts[5].address
    said = refusal(base_node, stranger, usdc, receive, *given)
    assert "FiatTokenV2: caller must be the payee" in said
    said = refusal(base_node, stranger, usdc, transfer, *given)
    assert "FiatTokenV2: invalid signature" in said
    # Nor does a transfer's signature serve as one for the payee.
    other = arguments(authorize(base_node, payee.address, UNITS), is_bytes=is_bytes)
    said = refusal(base_node, payee.address, usdc, receive, *other)
    assert "FiatTokenV2: invalid signature" in said


@OVERLOADS
def test_what_was_cancelled_moves_nothing_any_more(
    base_node: Anvil, usdc: str, payee: FundedAccount, is_bytes: bool
) -> None:
    told = authorize(base_node, payee.address, UNITS)
    cancelled = sign_cancel(base_node, told, payer(base_node))
    [log] = cancel(base_node, usdc, cancelled, is_bytes=is_bytes)
    assert log["topics"] == [CANCELED, topic(told.payer), told.nonce]
    assert is_used(base_node, usdc, told)
    given = arguments(told, is_bytes=False)
    said = refusal(base_node, payee.address, usdc, TRANSFER, *given)
    assert "FiatTokenV2: authorization is used or canceled" in said
    with pytest.raises(NodeError):
        cancel(base_node, usdc, cancelled, is_bytes=is_bytes)
    assert not balance_of(base_node, usdc, payee.address)


@OVERLOADS
def test_only_the_payers_key_cancels_and_nothing_that_was_used(
    base_node: Anvil, usdc: str, payee: FundedAccount, is_bytes: bool
) -> None:
    told = authorize(base_node, payee.address, UNITS)
    stranger = sign_cancel(base_node, told, payee)
    mine = sign_cancel(base_node, told, payer(base_node))
    with pytest.raises(NodeError):
        cancel(base_node, usdc, stranger, is_bytes=is_bytes)
    assert not is_used(base_node, usdc, told)
    run(base_node, payee, usdc, TRANSFER, told, is_bytes=is_bytes)
    with pytest.raises(NodeError):
        cancel(base_node, usdc, mine, is_bytes=is_bytes)


def test_a_contract_wallet_gives_and_cancels(base_node: Anvil, usdc: str, payee: FundedAccount) -> None:
    owner = payer(base_node)
    wallet = deploy_wallet(base_node, owner)
    mint(base_node, usdc, wallet, UNITS)
    told = replace(authorize(base_node, payee.address, UNITS), payer=wallet)
    given = by_wallet(sign(base_node, told, owner, kind="ReceiveWithAuthorization"))
    run(base_node, payee, usdc, RECEIVE, given, is_bytes=True)
    assert balance_of(base_node, usdc, payee.address) == UNITS
    other = replace(told, nonce="0x" + "07" * 32)
    cancelled = by_wallet(sign_cancel(base_node, other, owner))
    [log] = cancel(base_node, usdc, cancelled, is_bytes=True)
    assert log["topics"][:2] == [CANCELED, topic(wallet)]


@pytest.mark.parametrize("is_payer", [False, True])
def test_a_blocked_address_neither_gives_nor_takes(
    base_node: Anvil, usdc: str, payee: FundedAccount, is_payer: bool
) -> None:
    told = authorize(base_node, payee.address, UNITS)
    blocked, anybody = told.payer if is_payer else told.to, base_node.accounts[5]
    execute(base_node, anybody, usdc, "blacklist(address)", blocked)
    assert int(read(base_node, usdc, "isBlacklisted(address)", blocked), 16)
    for sender, function, given in (
        (anybody.address, TRANSFER, arguments(told, is_bytes=False)),
        (told.payer, "transfer(address,uint256)", [told.to, UNITS]),
    ):
        assert "Blacklistable: account is blacklisted" in refusal(base_node, sender, usdc, function, *given)
    execute(base_node, anybody, usdc, "unBlacklist(address)", blocked)
    run(base_node, anybody, usdc, TRANSFER, told, is_bytes=False)
    assert balance_of(base_node, usdc, payee.address) == UNITS


def test_of_the_two_signatures_that_each_one_makes_one_is_taken(
    base_node: Anvil, usdc: str, payee: FundedAccount
) -> None:
    told = authorize(base_node, payee.address, UNITS)
    raw = bytes.fromhex(told.signature[2:])
    high = (ORDER - int.from_bytes(raw[32:64], "big")).to_bytes(32, "big")
    v27, v0 = bytes([55 - raw[64]]), bytes([raw[64] - 27])
    for spoilt, reason in (
        (raw[:32] + high + v27, "ECRecover: invalid signature 's' value"),
        (raw[:64] + v0, "ECRecover: invalid signature 'v' value"),
        (raw + b"\0", "ECRecover: invalid signature length"),
    ):
        given = arguments(replace(told, signature=f"0x{spoilt.hex()}"), is_bytes=True)
        name = by_bytes(TRANSFER)
        assert reason in refusal(base_node, payee.address, usdc, name, *given)


def text_of(answer: str) -> str:
    """The text that a call answered with."""
    raw = bytes.fromhex(answer[2:])
    return raw[64 : 64 + int.from_bytes(raw[32:64], "big")].decode()


@OVERLOADS
def test_euros_move_by_a_signature_under_their_own_name_alone(
    base_node: Anvil, usdc: str, payee: FundedAccount, is_bytes: bool
) -> None:
    eurc = lay_eurc(base_node)
    names = {one: [text_of(read(base_node, one, f"{what}()")) for what in ("name", "symbol")] for one in (usdc, eurc)}
    assert names == {usdc: ["USD Coin", "USDC"], eurc: ["EURC", "EURC"]}
    name = by_bytes(TRANSFER) if is_bytes else TRANSFER
    dollars = arguments(authorize(base_node, payee.address, UNITS), is_bytes=is_bytes)
    assert "invalid signature" in refusal(base_node, payee.address, eurc, name, *dollars)
    told = authorize(base_node, payee.address, UNITS, domain=euro_domain(base_node))
    assert "invalid signature" in refusal(base_node, payee.address, usdc, name, *arguments(told, is_bytes=is_bytes))
    run(base_node, payee, eurc, TRANSFER, told, is_bytes=is_bytes)
    assert (balance_of(base_node, eurc, payee.address), balance_of(base_node, usdc, payee.address)) == (UNITS, 0)
