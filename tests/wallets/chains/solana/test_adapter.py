"""How much of what was read is remembered."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from localnet.solana import programs
from localnet.solana.node import USDC, Format, Payment, SolanaNode
from tests.chains import OpenReader
from tests.nodes import proxy as faults
from tests.nodes.proxy import RpcProxy
from tests.wallets.chains.solana.reading import account_of, new_owner, read, read_one, solana_spec, units_of
from tests.wallets.chains.solana.test_changes import SIGNATURE, balance, payment
from wallets.chains.base import ChainUnavailableError, TokenTransfer
from wallets.chains.solana.adapter import MOST_REMEMBERED, OVERLAP, SolanaAdapter, Teller, TransactionMemory
from wallets.chains.solana.changes import NOWHERE, Effects, ReadTransaction, read_transaction
from wallets.chains.solana.decode import from_base58
from wallets.chains.solana.questions import FIRST_PAGE


def test_what_is_remembered_is_bounded_and_the_longest_unused_goes_first() -> None:
    memory = TransactionMemory()
    read = ReadTransaction(5, datetime(2026, 1, 1, tzinfo=UTC), frozenset(), True, Effects())
    for number in range(MOST_REMEMBERED):
        memory.keep(str(number), read)
    assert set(memory.recall({"0": 5, "1": 6})) == {"0"}
    memory.keep("one more", read)
    assert set(memory.recall({"0": 5, "1": 5, "one more": 5})) == {"0", "one more"}


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


def test_a_payment_is_read_with_all_that_the_chain_tells_of_it(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    sent = solana_node.pay(solana_owner, 25_001_234)
    [transfer] = read_one(reader, solana_owner)
    slot = solana_node.rpc("getSignatureStatuses", [sent])["value"][0]["slot"]
    payer = str(solana_node.payer.pubkey())
    assert (transfer.chain, transfer.tx_hash) == ("solana", sent)
    assert (transfer.token, transfer.token_address) == ("USDC", USDC)
    assert (transfer.units, transfer.sender) == (25_001_234, payer)
    assert transfer.recipient == solana_owner
    assert transfer.recipient_key == bytes(Pubkey.from_string(solana_owner))
    assert (transfer.block_height, transfer.block_hash) == (slot, f"slot:{slot}")
    at = solana_node.rpc("getBlockTime", slot)
    assert transfer.block_time.timestamp() == at
    assert transfer.labels == ()


def test_a_reading_reaches_the_head_it_was_asked_for(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    head = reader.head()
    solana_node.pay(solana_owner, 5)
    solana_node.advance(2)
    assert reader.head().block.height > head.block.height
    [before] = reader.read_accounts([account_of(solana_owner)], head=head)
    assert (before.through, list(before.transfers)) == (head.block, [])
    assert units_of(read_one(reader, solana_owner)) == [5]


def test_a_failed_transaction_that_is_listed_as_a_good_one_is_no_payment(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str
) -> None:
    solana_node.fail(solana_owner, 5)
    solana_proxy.fault = faults.results(
        lambda method, result: (
            [entry | {"err": None} for entry in result] if method == "getSignaturesForAddress" else result
        )
    )
    assert read_one(open_on(solana_proxy.url), solana_owner) == []


def test_token_2022_is_read_from_its_own_accounts(
    solana_node: SolanaNode, open_on: OpenReader, solana_owner: str
) -> None:
    token = solana_node.create_token(program=programs.TOKEN_2022)
    solana_node.fund(str(solana_node.payer.pubkey()), 100, token=token)
    sent = solana_node.pay(solana_owner, 30, token=token)
    [transfer] = read_one(open_on(token=token), solana_owner)
    assert (transfer.tx_hash, transfer.units) == (sent, 30)


def test_what_token_2022_keeps_back_as_a_fee_has_not_arrived(
    solana_node: SolanaNode, open_on: OpenReader, solana_owner: str
) -> None:
    token = solana_node.create_fee_token(basis_points=250)
    solana_node.fund(str(solana_node.payer.pubkey()), 10_000, token=token)
    solana_node.pay(solana_owner, 1_000, token=token)
    assert solana_node.balance(solana_owner, token=token) == 975
    assert units_of(read_one(open_on(token=token), solana_owner)) == [975]


def test_units_made_for_somebody_are_a_payment_by_who_paid_the_fee(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    solana_node.fund(solana_owner, 40)
    [transfer] = read_one(reader, solana_owner)
    payer = str(solana_node.payer.pubkey())
    assert (transfer.units, transfer.sender) == (40, payer)


def test_references_and_the_memo_are_the_labels(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    references = [new_owner(), new_owner()]
    solana_node.pay(solana_owner, 5, references=references, memo="order 7 – café")
    [transfer] = read_one(reader, solana_owner)
    assert set(transfer.labels) == {*references, "order 7 – café"}


def test_what_every_payment_names_is_no_label(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    """Not the programs, nor the token, nor the owner whose account is made."""
    fresh = solana_node.pay_all([Payment(solana_owner, 5), Payment(new_owner(), 6)])
    [transfer] = read_one(reader, solana_owner)
    assert (transfer.tx_hash, transfer.labels) == (fresh, ())


def test_a_long_memo_is_read_to_its_end_and_free_of_nul(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    solana_node.pay(solana_owner, 5, memo="\0" + "a" * 600 + " code")
    [transfer] = read_one(reader, solana_owner)
    assert transfer.labels == ("a" * 600 + " code",)


def test_references_in_the_message_come_before_those_of_lookup_tables(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    many, own = [new_owner() for _ in range(40)], new_owner()
    table = solana_node.create_lookup_table(many)
    solana_node.pay_all([Payment(solana_owner, 5, references=[*many, own])], written=Format(0, [table]))
    [transfer] = read_one(reader, solana_owner)
    assert transfer.labels[0] == own
    assert set(transfer.labels) == {own, *many}


def test_a_versioned_transaction_with_lookup_tables_is_read(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    reference = new_owner()
    table = solana_node.create_lookup_table([solana_node.token_account(solana_owner), reference, solana_owner])
    solana_node.pay_all([Payment(solana_owner, 5, references=[reference])], written=Format(0, [table]))
    [transfer] = read_one(reader, solana_owner)
    assert (transfer.units, transfer.labels) == (5, (reference,))


def test_many_payments_in_one_slot_are_read_over_page_borders(
    solana_node: SolanaNode, open_on: OpenReader, solana_owner: str
) -> None:
    solana_node.pay(solana_owner, 100)
    payer, target = solana_node.payer, Pubkey.from_string(solana_owner)
    for units in range(1, 8):
        move = _move(units, source=payer.pubkey(), target=target)
        solana_node.submit(solana_node.sign([move], payer=payer))
    solana_node.advance()
    found = read_one(open_on(page=2), solana_owner)
    assert units_of(found) == [100, *range(1, 8)]
    assert len({transfer.block_height for transfer in found}) < len(found)


def _move(units: int, *, source: Pubkey, target: Pubkey) -> Instruction:
    """USDC from one owner to another who has an account for it."""
    mint = Pubkey.from_string(USDC)
    return programs.transfer(
        programs.token_account(source, mint),
        programs.token_account(target, mint),
        units,
        owner=source,
        mint=mint,
        program=programs.TOKEN,
    )


def test_an_account_is_read_from_a_little_below_what_is_known(
    solana_node: SolanaNode, open_on: OpenReader, solana_owner: str
) -> None:
    solana_node.pay(solana_owner, 1)
    solana_node.advance(OVERLAP + 20)
    solana_node.pay(solana_owner, 2)
    solana_node.advance(10)
    reader = open_on(page=2)
    head = reader.head()
    height = head.block.height
    known = replace(account_of(solana_owner), height=height)
    [reading] = reader.read_accounts([known], head=head)
    assert units_of(reading.transfers) == [2]
    earlier = replace(known, height=height - 60)
    [reading] = reader.read_accounts([earlier], head=head)
    assert units_of(reading.transfers) == [1, 2]


def test_what_was_read_before_is_listed_again_and_not_asked_for_again(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    for units in range(1, 6):
        solana_node.pay(solana_owner, units)
    first = read_one(reader, solana_owner)
    spent = reader.requests
    assert read_one(reader, solana_owner) == first
    assert reader.requests == spent + 2  # the head and one page


def test_what_a_rate_limit_cut_short_is_not_asked_for_again(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str
) -> None:
    solana_node.pay(solana_owner, 100)
    payer, target = solana_node.payer, Pubkey.from_string(solana_owner)
    for units in range(1, 30):
        move = _move(units, source=payer.pubkey(), target=target)
        solana_node.submit(solana_node.sign([move], payer=payer))
    solana_node.advance()
    reader, asked = open_on(solana_proxy.url), []

    def allow_some(method: str, result: Any) -> Any:
        asked.extend([method] if method == "getTransaction" else [])
        return result if len(asked) <= 25 else None

    solana_proxy.fault = faults.results(allow_some)
    with pytest.raises(ChainUnavailableError):
        read_one(reader, solana_owner)
    solana_proxy.fault = faults.honest
    spent = reader.requests
    assert units_of(read_one(reader, solana_owner)) == [100, *range(1, 30)]
    assert reader.requests == spent + 2 + 5  # the head, a page, and the rest


def test_an_account_with_a_long_history_is_listed_as_far_as_needed_and_no_further(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str
) -> None:
    for units in range(1, FIRST_PAGE + 20):
        solana_node.pay(solana_owner, units)
    solana_node.advance(OVERLAP)
    reader = open_on(solana_proxy.url)
    assert units_of(read_one(reader, solana_owner)) == list(range(1, FIRST_PAGE + 20))
    head, spent = reader.head(), reader.requests
    known = replace(account_of(solana_owner), height=head.block.height)
    lengths = []

    def note(method: str, result: Any) -> Any:
        lengths.append(len(result))
        return result

    solana_proxy.fault = faults.results(note)
    [reading] = reader.read_accounts([known], head=head)
    assert (reading.transfers, lengths) == ([], [FIRST_PAGE])
    assert reader.requests == spent + 1
