"""Chains that change their mind while people pay: each transfer counts once if it is there in the end, and else not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from localnet.abi import encode_call
from localnet.tokens import mint, token_address
from tests.exhaustive import sample
from tests.faults.oracle import settle
from tests.installation import CONFIRMATIONS, DOLLAR, Installation, OpenCheckout
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.xdist_group("faults")]

USDC = token_address("USDC")


@dataclass(frozen=True)
class Signed:
    """A payment by somebody of its own, which can be mined in any order and more than once."""

    checkout: OpenCheckout
    raw: str


def sign_payments(installation: Installation, count: int, *, chain: str = "base") -> list[Signed]:
    """Payments of as many checkouts, not sent yet."""
    node, signed = installation.nodes[chain], []
    for number, checkout in enumerate(installation.create_checkouts(count), start=2):
        account = node.accounts[number]
        mint(node, USDC, account.address, 10 * DOLLAR)
        data = encode_call("transfer(address,uint256)", checkout.address, 10 * DOLLAR)
        signed.append(Signed(checkout, node.sign(account, to=USDC, data=data)))
    return signed


def mine_together(installation: Installation, payments: Sequence[Signed], *, chain: str = "base") -> None:
    """Put payments into one block."""
    node = installation.nodes[chain]
    node.set_automine(False)
    for payment in payments:
        node.rpc("eth_sendRawTransaction", payment.raw)
    node.mine()
    node.set_automine(True)


def states(installation: Installation, payments: Sequence[Signed]) -> list[str]:
    """The states of the payments' transfers; empty for one that was not recorded."""
    return [
        installation.database.value("SELECT state FROM wallets_transfer WHERE recipient = %s", payment.checkout.address)
        or ""
        for payment in payments
    ]


def statuses(installation: Installation, payments: Sequence[Signed]) -> list[tuple[str, str]]:
    """Status and exception of the payments' checkouts."""
    return [
        installation.database.rows(
            "SELECT status, exception FROM checkouts_checkout WHERE public_id = %s", payment.checkout.public_id
        )[0]
        for payment in payments
    ]


@pytest.mark.parametrize("is_credited", [True, False], ids=["credited", "uncredited"])
@pytest.mark.parametrize("depth", sample([1, 2, 3, 4, 5], 2))
def test_payments_dropped_moved_and_returned_count_where_they_are_in_the_end(
    installation: Installation, depth: int, is_credited: bool
) -> None:
    dropped, moved, returned = payments = sign_payments(installation, 3)
    node, worker = installation.nodes["base"], installation.the("worker")
    if not is_credited:
        installation.freeze(worker)
    mine_together(installation, payments)
    node.mine(depth - 1)
    seen = ("processing" if is_credited else "pending", "")
    wait_until(lambda: states(installation, payments) == ["detected"] * 3)
    wait_until(lambda: statuses(installation, payments) == [seen] * 3)
    node.reorg(depth, include=[(moved.raw, depth - 1)])
    gone = [dropped, returned]
    wait_until(lambda: states(installation, gone) == ["orphaned"] * 2)
    if not is_credited:
        installation.thaw(worker)
    wait_until(lambda: statuses(installation, gone) == [("pending", "")] * 2)
    node.rpc("eth_sendRawTransaction", returned.raw)
    settle(installation)
    assert states(installation, payments) == ["orphaned", "confirmed", "confirmed"]
    assert statuses(installation, payments) == [("pending", ""), ("completed", ""), ("completed", "")]


@pytest.mark.parametrize("depth", [2, 5])
def test_money_that_is_taken_back_after_completion_is_told_and_counts_again_when_it_returns(
    installation: Installation, depth: int
) -> None:
    node = installation.nodes["polygon"]
    gone, moved = payments = sign_payments(installation, 2, chain="polygon")
    mine_together(installation, payments, chain="polygon")
    node.mine(max(depth, CONFIRMATIONS["polygon"]) - 1)
    completed = ("completed", "")
    wait_until(lambda: statuses(installation, payments) == [completed] * 2)
    fork = node.block_number() - depth
    node.reorg(depth, include=[(moved.raw, depth - 1)])
    wait_until(lambda: halted_reason(installation))
    assert statuses(installation, payments) == [completed] * 2
    installation.clerk.ask("resume_chain", chain="polygon", height=fork)
    settle(installation)
    assert statuses(installation, payments) == [("completed", "reversed"), completed]
    assert inbox_reasons(installation, gone) == ["reversed"]
    node.rpc("eth_sendRawTransaction", gone.raw)
    settle(installation)
    assert statuses(installation, payments) == [completed] * 2


def test_a_reorg_turns_what_is_said_of_a_signed_receipt(installation: Installation) -> None:
    node = installation.nodes["polygon"]
    gone, moved = payments = sign_payments(installation, 2, chain="polygon")
    mine_together(installation, payments, chain="polygon")
    node.mine(CONFIRMATIONS["polygon"])
    completed = ("completed", "")
    wait_until(lambda: statuses(installation, payments) == [completed] * 2)
    first = [receipt_of(installation, payment) for payment in payments]
    assert what_became(installation, first) == ["paid"] * 2
    fork = node.block_number() - 3
    node.reorg(3, include=[(moved.raw, 2)])
    wait_until(lambda: halted_reason(installation))
    assert what_became(installation, first) == ["in_doubt"] * 2
    installation.clerk.ask("resume_chain", chain="polygon", height=fork)
    settle(installation)
    assert what_became(installation, first) == ["reversed", "paid"]
    assert receipt_of(installation, gone) == "state_conflict"
    # It is in another block now, and its next receipt says so.
    again = receipt_of(installation, moved)
    assert again["replaces"] == first[1]["jti"]
    assert again["received"][0]["block_hash"] != first[1]["received"][0]["block_hash"]
    node.rpc("eth_sendRawTransaction", gone.raw)
    settle(installation)
    assert what_became(installation, first) == ["paid"] * 2


def receipt_of(installation: Installation, payment: Signed) -> Any:
    """The claims of a payment's signed receipt; the error's code where there is none."""
    return installation.clerk.ask("receipt", checkout=payment.checkout.public_id)


def what_became(installation: Installation, receipts: Sequence[Any]) -> list[str]:
    """What the status address says of receipts."""
    return [installation.clerk.ask("receipt_status", jti=claims["jti"]) for claims in receipts]


def halted_reason(installation: Installation) -> str:
    reason: str = installation.database.value("SELECT halted_reason FROM wallets_chaincursor WHERE chain = 'polygon'")
    return reason


def inbox_reasons(installation: Installation, payment: Signed) -> list[str]:
    rows = installation.database.rows(
        "SELECT i.reason FROM checkouts_inboxitem i JOIN wallets_transfer t ON t.id = i.transfer_id"
        " WHERE t.recipient = %s",
        payment.checkout.address,
    )
    return [reason for (reason,) in rows]
