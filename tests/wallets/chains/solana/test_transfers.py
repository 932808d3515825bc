"""What a Solana transaction took from an owner: told as its recipients are told of it, and adding up to what is gone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from demo.localnet.solana import programs
from demo.localnet.solana.node import USDC, Payment, SolanaNode
from tests.chains import OpenReader
from tests.wallets.chains.solana.reading import new_owner, read, solana_spec
from tests.wallets.chains.solana.test_changes import SIGNATURE, balance, payment
from wallets.chains.base import TokenTransfer
from wallets.chains.solana.adapter import SolanaAdapter, Teller
from wallets.chains.solana.changes import read_transaction
from wallets.chains.solana.decode import from_base58
from wallets.chains.solana.parts import NOWHERE

OWNERS = [new_owner() for _ in range(6)]


def told(owner: str, *changes: tuple[int, str, int, int]) -> list[TokenTransfer]:
    """What an owner is told of a transaction that changed balances: an account's place, its owner, before and after."""
    before: list[Any] = [balance(place, who, was) for place, who, was, _ in changes]
    after = [balance(place, who, now) for place, who, _, now in changes]
    answer = payment(preTokenBalances=before, postTokenBalances=after)
    found = read_transaction(answer, asked=SIGNATURE, decimals={USDC: 6})
    spec = solana_spec("http://127.0.0.1:1", token=USDC)
    return list(Teller(spec).both_ways(SIGNATURE, found, owner))


def burn(owner: Pubkey, units: int) -> Instruction:
    """Destroy an owner's USDC (the token program's eighth instruction)."""
    mint = Pubkey.from_string(USDC)
    written = [
        AccountMeta(key, is_signer=False, is_writable=True) for key in (programs.token_account(owner, mint), mint)
    ]
    signer = AccountMeta(owner, is_signer=True, is_writable=False)
    data = bytes([8]) + units.to_bytes(8, "little")
    return Instruction(programs.TOKEN, data, [*written, signer])


def test_both_sides_tell_of_a_payment_in_the_same_words(solana_node: SolanaNode, reader: SolanaAdapter) -> None:
    payer, owner, other = Keypair(), new_owner(), new_owner()
    solana_node.airdrop(str(payer.pubkey()))
    solana_node.fund(str(payer.pubkey()), 100)
    solana_node.pay_all([Payment(owner, 30), Payment(other, 20)], payer=payer)
    sent, got, others = read(reader, str(payer.pubkey()), owner, other)
    # What it was funded with came from nobody.
    assert [(one.units, one.sender_key) for one in sent[:1]] == [(100, b"")]
    assert sorted(sent[1:], key=lambda one: one.units) == [*others, *got]
    assert {one.sender_key for one in got} == {bytes(payer.pubkey())}
    assert sent[1].position != sent[2].position


def test_what_was_burned_reached_nobody(solana_node: SolanaNode, reader: SolanaAdapter) -> None:
    payer = Keypair()
    owner = str(payer.pubkey())
    solana_node.airdrop(owner)
    solana_node.fund(owner, 100)
    solana_node.send(burn(payer.pubkey(), 40), payer=payer)
    [[_, burned]] = read(reader, owner)
    assert (burned.units, burned.recipient, burned.recipient_key) == (40, "", b"")
    assert burned.sender_key == bytes(payer.pubkey())
    assert burned.position >= NOWHERE


def test_what_a_token_keeps_back_is_part_of_what_left(solana_node: SolanaNode, open_on: OpenReader) -> None:
    token = solana_node.create_fee_token(basis_points=100)
    payer, owner = Keypair(), new_owner()
    solana_node.airdrop(str(payer.pubkey()))
    solana_node.fund(str(payer.pubkey()), 10_000, token=token)
    solana_node.pay_all([Payment(owner, 10_000, token)], payer=payer)
    [[_, *sent], [got]] = read(open_on(token=token), str(payer.pubkey()), owner)
    assert sent[0] == got
    assert [(one.units, one.recipient) for one in sent] == [(9_900, owner), (100, "")]


def test_where_several_paid_each_is_told_its_part_and_the_recipient_the_whole() -> None:
    first, second, third = OWNERS[:3]
    changes = [(1, first, 60, 0), (2, second, 40, 0), (3, third, 0, 100)]
    [got], [more], [less] = (told(owner, *changes) for owner in (third, first, second))
    assert [one.units for one in (got, more, less)] == [100, 60, 40]
    assert {one.position for one in (got, more, less)} == {3}
    # So that no row of one side is made of what the other's account tells.
    assert (got.sender, got.sender_key) == (first, b"")
    assert (more.recipient, more.recipient_key) == (third, b"")
    assert less.sender_key == from_base58(second)


def test_an_account_that_changed_hands_and_was_burned_from_gives_two_movements() -> None:
    # One token account, first one owner's and then the other's.
    before, after = balance(1, OWNERS[0], 100), balance(1, OWNERS[1], 50)
    answer = payment(preTokenBalances=[before], postTokenBalances=[after])
    found = read_transaction(answer, asked=SIGNATURE, decimals={USDC: 6})
    left = [(one.units, one.position, one.recipient) for one in found.debits]
    assert left == [(50, 1, OWNERS[1]), (50, NOWHERE + 1, "")]


CHANGES = st.lists(st.tuples(st.sampled_from(OWNERS), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=6)


@given(CHANGES)
def test_what_left_an_owner_adds_up_to_what_it_has_less(drawn: list[tuple[str, int, int]]) -> None:
    changes = [(place, *each) for place, each in enumerate(drawn, 1)]
    for owner in OWNERS:
        lost = sum(was - now for _, who, was, now in changes if who == owner)
        found = told(owner, *changes)
        left = [one for one in found if one.sender == owner]
        assert sum(one.units for one in left) == max(lost, 0)
        assert len({one.position for one in left}) == len(left)
        assert all(one.units > 0 for one in found)
        assert sum(one.units for one in found if one not in left) == max(-lost, 0)


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_in_which_a_node_tells_balances_changes_nothing(order: int) -> None:
    changes = [(1, OWNERS[0], 50, 0), (2, OWNERS[1], 50, 0), (3, OWNERS[2], 0, 70), (4, OWNERS[3], 0, 30)]
    left = min(OWNERS[:2])
    found = {(one.position, one.units) for one in told(left, *changes[::order])}
    assert found == {(3, 50)}
