"""One Solana transaction that pays one owner several times: each transfer instruction is a transfer, and the balances agree."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import base58
import pytest
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from localnet.solana import programs
from localnet.solana.node import USDC, Payment, SolanaNode
from tests.chains import OpenReader
from tests.nodes.proxy import RpcProxy
from tests.wallets.chains.solana.reading import new_owner, read, read_one
from tests.wallets.chains.solana.test_changes import SIGNATURE, balance
from tests.wallets.chains.solana.test_find import auxiliary_account, find, moved
from wallets.chains.base import PARTS_FROM, MalformedAnswerError
from wallets.chains.solana.adapter import SolanaAdapter
from wallets.chains.solana.changes import Debit, ReadTransaction, TokenCredit, read_transaction
from wallets.chains.solana.decode import TOKEN_2022_PROGRAM, TOKEN_PROGRAM

SHOP, PAYER, VAULT = new_owner(), new_owner(), new_owner()
ROUTER, REFERENCE, OTHER_REFERENCE = new_owner(), new_owner(), new_owner()
MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
# Places: the payer's token account, the shop's two, the vault's, one of nobody who is told.
FROM, TO, TO_TOO, PASSED, UNTOLD = 1, 2, 3, 4, 5
KEYS = [
    *(PAYER, *(new_owner() for _ in range(5)), TOKEN_PROGRAM, TOKEN_2022_PROGRAM, USDC),
    *(ROUTER, MEMO, REFERENCE, OTHER_REFERENCE),
]
TOKEN, TOKEN_2022 = KEYS.index(TOKEN_PROGRAM), KEYS.index(TOKEN_2022_PROGRAM)
MINT, FIRST, SECOND = (KEYS.index(USDC), KEYS.index(REFERENCE), KEYS.index(OTHER_REFERENCE))


def u64(units: int) -> bytes:
    return units.to_bytes(8, "little")


class Order(NamedTuple):
    """An instruction, by its accounts' places, and those that the program called in it."""

    data: bytes
    places: Sequence[int]
    program: int = TOKEN
    inner: Sequence["Order"] = ()

    def told(self) -> dict[str, Any]:
        """Return it as nodes write it."""
        return {
            "programIdIndex": self.program,
            "accounts": list(self.places),
            "data": base58.b58encode(self.data).decode(),
        }


def checked(source: int, target: int, units: int, *added: int) -> Order:
    return Order(b"\x0c" + u64(units) + b"\x06", [source, MINT, target, 0, *added])


def plain(source: int, target: int, units: int, *added: int) -> Order:
    return Order(b"\x03" + u64(units), [source, target, 0, *added])


def with_fee(source: int, target: int, units: int, fee: int) -> Order:
    data = b"\x1a\x01" + u64(units) + b"\x06" + u64(fee)
    return Order(data, [source, MINT, target, 0], TOKEN_2022)


def batch(*orders: Order) -> Order:
    parts = (bytes([len(one.places), len(one.data)]) + one.data for one in orders)
    places = [place for one in orders for place in one.places]
    return Order(b"\xff" + b"".join(parts), places)


def memo(text: str) -> Order:
    return Order(text.encode(), [], KEYS.index(MEMO))


def routed(*orders: Order, places: Sequence[int] = ()) -> Order:
    return Order(b"\x01", places, KEYS.index(ROUTER), orders)


def transaction(orders: Sequence[Order], *changes: tuple[int, str, int]) -> Any:
    """A transaction's answer: its instructions, and by how much balances changed: place, owner, change."""
    groups = [
        {"index": top, "instructions": [one.told() for one in order.inner]}
        for top, order in enumerate(orders)
        if order.inner
    ]
    meta: dict[str, Any] = {
        "err": None,
        "preTokenBalances": [balance(at, who, 10**6) for at, who, _ in changes],
        "postTokenBalances": [balance(at, who, 10**6 + n) for at, who, n in changes],
        "innerInstructions": groups,
        "loadedAddresses": {"writable": [], "readonly": []},
    }
    message = {
        "header": {
            "numRequiredSignatures": 1,
            "numReadonlySignedAccounts": 0,
            "numReadonlyUnsignedAccounts": len(KEYS) - TOKEN,
        },
        "accountKeys": KEYS,
        "instructions": [one.told() for one in orders],
    }
    return {
        "slot": 1_000,
        "blockTime": 1_780_000_000,
        "version": "legacy",
        "meta": meta,
        "transaction": {"signatures": [SIGNATURE], "message": message},
    }


def effects(orders: Sequence[Order], *changes: tuple[int, str, int]) -> ReadTransaction:
    answer = transaction(orders, *changes)
    return read_transaction(answer, asked=SIGNATURE, decimals={USDC: 6})


def got(read: ReadTransaction, owner: str = SHOP) -> list[tuple[int, bool]]:
    """What an owner got, in order, and whether each is a sum."""
    mine = [one for one in read.credits if one.owner == owner]
    assert len({one.position for one in mine}) == len(mine)
    return [(one.units, one.is_sum) for one in mine]


def movements(read: ReadTransaction) -> list[TokenCredit | Debit]:
    return [*read.credits, *read.debits]


PAID_TWICE = (FROM, PAYER, -7), (TO, SHOP, 7)
IN_TWO: dict[str, list[Order]] = {
    "transfer": [plain(FROM, TO, 3), plain(FROM, TO, 4)],
    "transferChecked": [checked(FROM, TO, 3), checked(FROM, TO, 4)],
    "transferCheckedWithFee": [with_fee(FROM, TO, 3, 0), with_fee(FROM, TO, 4, 0)],
    "both in one program": [routed(checked(FROM, TO, 3), plain(FROM, TO, 4))],
    "each in a program": [routed(plain(FROM, TO, 3)), routed(plain(FROM, TO, 4))],
    "one within a program": [plain(FROM, TO, 3), routed(plain(FROM, TO, 4))],
    "a batch": [batch(plain(FROM, TO, 3), checked(FROM, TO, 4))],
    "a batch in a program": [routed(batch(plain(FROM, TO, 3), plain(FROM, TO, 4)))],
    "minted": [
        Order(b"\x07" + u64(3), [MINT, TO, 0]),
        Order(b"\x0e" + u64(4) + b"\x06", [MINT, TO, 0]),
        Order(b"\x08" + u64(7), [FROM, MINT, 0]),
    ],
    "through a hook that takes nothing": [
        checked(FROM, TO, 3)._replace(inner=[Order(b"\x01", [FROM, TO], KEYS.index(ROUTER))]),
        checked(FROM, TO, 4)._replace(inner=[Order(b"\x01", [FROM, TO], KEYS.index(ROUTER))]),
    ],
    "by way of an account that is closed": [plain(FROM, UNTOLD, 4), plain(FROM, TO, 3), plain(UNTOLD, TO, 4)],
    "nothing in between": [plain(FROM, TO, 3), plain(FROM, TO, 0), plain(FROM, TO, 4)],
}


@pytest.mark.parametrize("orders", IN_TWO.values(), ids=IN_TWO)
def test_two_transfers_to_one_owner_are_two_however_they_are_made(orders: list[Order]) -> None:
    read = effects(orders, *PAID_TWICE)
    assert got(read) == [(3, False), (4, False)]
    assert all(one.position >= PARTS_FROM for one in read.credits)
    # What an earlier release recorded is known for its rows.
    assert [(one.units, one.position) for one in read.effects.sums] == [(7, TO)]


def test_a_single_transfer_keeps_the_position_that_it_had() -> None:
    read = effects([routed(plain(FROM, TO, 7))], *PAID_TWICE)
    assert read.credits == read.effects.sums
    assert [one.position for one in movements(read)] == [TO, TO]


def test_nothing_is_netted_of_an_owner_who_signed() -> None:
    orders = [plain(FROM, TO, 10), plain(TO, FROM, 4)]
    answer = transaction(orders, (FROM, PAYER, -6), (TO, SHOP, 6))
    answer["transaction"]["message"]["header"]["numRequiredSignatures"] = 2
    answer["transaction"]["message"]["accountKeys"] = [PAYER, SHOP, *KEYS[2:]]
    read = read_transaction(answer, asked=SIGNATURE, decimals={USDC: 6})
    assert got(read) == [(10, False)]
    assert got(read, PAYER) == [(4, False)]
    assert [(one.owner, one.units, one.recipient) for one in read.debits] == [(PAYER, 10, SHOP), (SHOP, 4, PAYER)]
    assert {one.sender for one in read.credits if one.owner == PAYER} == {SHOP}


# The payer's own account, which it hands to the shop afterwards: to the nodes the shop's, before and after, or only after.
@pytest.mark.parametrize("is_known_before", [True, False])
@pytest.mark.parametrize("gift", [0, 5])
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("by_program", [True, False])
def test_money_that_went_back_pays_nobody_who_did_not_sign(
    is_known_before: bool, gift: int, times: int, by_program: bool
) -> None:
    loop = [
        checked(FROM, TO, 200, FIRST),
        checked(TO, FROM, 200),
        checked(FROM, PASSED, 200, FIRST),
        plain(PASSED, FROM, 200),
    ] * times
    orders = [routed(*loop)] if by_program else loop
    if gift:
        orders.append(plain(FROM, TO_TOO, gift))
    answer = transaction(orders, *((FROM, PAYER, -gift), (TO, SHOP, 0), (PASSED, SHOP, 0)), (TO_TOO, SHOP, gift))
    if not is_known_before:
        told = answer["meta"]["preTokenBalances"]
        answer["meta"]["preTokenBalances"] = [one for one in told if one["accountIndex"] not in {TO, PASSED}]
        for one in answer["meta"]["postTokenBalances"]:
            if one["accountIndex"] in {TO, PASSED}:
                one["uiTokenAmount"]["amount"] = "0"
    read = read_transaction(answer, asked=SIGNATURE, decimals={USDC: 6})
    assert got(read) == ([(gift, True)] if gift else [])


def test_several_token_accounts_of_one_owner_are_several_transfers() -> None:
    orders = [plain(FROM, TO, 3), plain(FROM, TO_TOO, 4), plain(TO, TO_TOO, 2)]
    read = effects(orders, (FROM, PAYER, -7), (TO, SHOP, 1), (TO_TOO, SHOP, 6))
    # What the owner moved between its own is no movement.
    assert got(read) == [(3, False), (4, False)]
    assert [one.units for one in read.debits] == [3, 4]


def test_money_that_only_passed_through_is_from_who_gave_it() -> None:
    orders = [
        routed(plain(FROM, PASSED, 3), plain(PASSED, TO, 3)),
        routed(plain(FROM, UNTOLD, 4), plain(UNTOLD, TO, 4)),
    ]
    read = effects(orders, (FROM, PAYER, -7), (PASSED, VAULT, 0), (TO, SHOP, 7))
    assert {one.sender for one in read.credits if one.owner == SHOP} == {PAYER}


def test_each_of_two_payers_is_the_sender_of_what_it_paid() -> None:
    orders = [plain(FROM, TO, 3), plain(PASSED, TO, 4)]
    read = effects(orders, (FROM, PAYER, -3), (PASSED, VAULT, -4), (TO, SHOP, 7))
    assert [(one.units, one.sender) for one in read.credits] == [(3, PAYER), (4, VAULT)]


CLERK = new_owner()
Change = tuple[int, str, int]
SIDES: dict[str, tuple[list[Order], list[Change]]] = {
    "one paid once, another twice": (
        [plain(FROM, TO, 3), plain(FROM, TO, 4), plain(FROM, PASSED, 5)],
        [(FROM, PAYER, -12), (TO, SHOP, 7), (PASSED, VAULT, 5)],
    ),
    "one paid by two": (
        [plain(FROM, TO, 3), plain(PASSED, TO, 4)],
        [(FROM, PAYER, -3), (PASSED, VAULT, -4), (TO, SHOP, 7)],
    ),
    "one of two payers paid another too": (
        [plain(FROM, TO, 3), plain(PASSED, TO, 4), plain(PASSED, UNTOLD, 5)],
        [(FROM, PAYER, -3), (PASSED, VAULT, -9), (TO, SHOP, 7), (UNTOLD, CLERK, 5)],
    ),
    "equal sums": (
        [plain(FROM, TO, 7), plain(PASSED, UNTOLD, 7)],
        [(FROM, PAYER, -7), (PASSED, VAULT, -7), (TO, SHOP, 7), (UNTOLD, CLERK, 7)],
    ),
    "equal sums crosswise": (
        [plain(FROM, UNTOLD, 7), plain(PASSED, TO, 7)],
        [(FROM, PAYER, -7), (PASSED, VAULT, -7), (TO, SHOP, 7), (UNTOLD, CLERK, 7)],
    ),
}


@pytest.mark.parametrize(("orders", "changes"), SIDES.values(), ids=SIDES)
def test_both_sides_tell_the_same_movements_at_the_same_positions(orders: list[Order], changes: list[Change]) -> None:
    read = effects(orders, *changes)
    came = {(one.position, one.units, one.sender, one.owner) for one in read.credits}
    left = {(one.position, one.units, one.owner, one.recipient) for one in read.debits}
    owners = {place: owner for place, owner, _ in changes}
    paid = sorted((int.from_bytes(one.data[1:9], "little"), *one.places[:2]) for one in orders)
    assert came == left
    told = sorted((units, *ends) for _, units, *ends in came)
    assert told == sorted((units, owners[source], owners[target]) for units, source, target in paid)
    # One owner's are all parts, or all sums.
    for owner in owners.values():
        assert len({position < PARTS_FROM for position, _, *ends in came if owner in ends}) == 1


UNEXPLAINED: dict[str, list[Order]] = {
    "a fee that the mint keeps back": [checked(FROM, TO, 4), checked(FROM, TO, 5)],
    "a hook that takes a share": [
        checked(FROM, TO, 4),
        checked(FROM, TO, 5)._replace(inner=[Order(b"\x01", [TO, UNTOLD], KEYS.index(ROUTER))]),
    ],
    "an unknown instruction": [plain(FROM, TO, 3), Order(b"\x63", [FROM, TO])],
    "no instruction": [],
    "instructions that a node lacks": [Order(b"\x01", [FROM, TO], KEYS.index(ROUTER))],
    "too few accounts": [Order(b"\x03" + u64(7), [FROM, TO])],
    "a batch that is cut off": [Order(batch(plain(FROM, TO, 7)).data[:9], [FROM, TO, 0])],
}


@pytest.mark.parametrize("orders", UNEXPLAINED.values(), ids=UNEXPLAINED)
def test_what_the_instructions_do_not_explain_is_one_sum_and_says_so(orders: list[Order]) -> None:
    read = effects(orders, *PAID_TWICE)
    assert got(read) == [(7, True)]
    assert [one.position for one in movements(read)] == [TO, TO]


@pytest.mark.parametrize("held", [0, 10**6])
def test_an_account_that_changes_hands_is_one_sum(held: int) -> None:
    answer = transaction([plain(FROM, TO, 7)], *PAID_TWICE)
    answer["meta"]["preTokenBalances"][1] = balance(TO, VAULT, held)
    answer["meta"]["postTokenBalances"][1] = balance(TO, SHOP, held + 7)
    read = read_transaction(answer, asked=SIGNATURE, decimals={USDC: 6})
    assert got(read) == [(held + 7, True)]


def test_a_fee_that_a_transfer_names_is_a_movement_to_nobody() -> None:
    orders = [with_fee(FROM, TO, 4, 1), with_fee(FROM, TO, 5, 1)]
    read = effects(orders, (FROM, PAYER, -9), (TO, SHOP, 7))
    assert got(read) == [(3, False), (4, False)]
    left = [(one.units, one.recipient) for one in read.debits]
    assert left == [(3, SHOP), (1, ""), (4, SHOP), (1, "")]


LABELLED: dict[str, tuple[list[Order], list[set[str]]]] = {
    "each its reference": (
        [plain(FROM, TO, 3, FIRST), checked(FROM, TO, 4, SECOND)],
        [{REFERENCE}, {OTHER_REFERENCE}],
    ),
    "one of them": ([plain(FROM, TO, 3), plain(FROM, TO, 4, FIRST)], [set(), {REFERENCE}]),
    "within programs": (
        [routed(plain(FROM, TO, 3, SECOND), plain(FROM, TO, 4, FIRST))],
        [{OTHER_REFERENCE}, {REFERENCE}],
    ),
    "handed to the program": (
        [
            routed(plain(FROM, TO, 3), places=[FROM, TO, FIRST]),
            routed(plain(FROM, TO, 4), places=[FROM, TO, SECOND]),
        ],
        [{REFERENCE}, {OTHER_REFERENCE}],
    ),
    "memos before": (
        [memo("a"), plain(FROM, TO, 3), memo("b"), plain(FROM, TO, 4)],
        [{"a"}, {"b"}],
    ),
    "memos behind": (
        [plain(FROM, TO, 3), memo("a"), plain(FROM, TO, 4), memo("b")],
        [{"a"}, {"b"}],
    ),
    "a memo before one": ([memo("a"), plain(FROM, TO, 3), plain(FROM, TO, 4)], [{"a"}, set()]),
    "a memo behind all": ([plain(FROM, TO, 3), plain(FROM, TO, 4), memo("a")], [{"a"}, {"a"}]),
    "in a batch": (
        [batch(plain(FROM, TO, 3, FIRST), plain(FROM, TO, 4, SECOND))],
        [{REFERENCE}, {OTHER_REFERENCE}],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("orders", "labels"), LABELLED.values(), ids=LABELLED)
def test_each_transfer_has_the_labels_of_its_own_instruction(orders: list[Order], labels: list[set[str]]) -> None:
    read = effects(orders, *PAID_TWICE)
    assert [{*one.labels} for one in read.credits] == labels


def test_inner_instructions_that_came_twice_are_refused() -> None:
    answer = transaction([routed(plain(FROM, TO, 7))], *PAID_TWICE)
    answer["meta"]["innerInstructions"] *= 2
    with pytest.raises(MalformedAnswerError):
        read_transaction(answer, asked=SIGNATURE, decimals={USDC: 6})


def test_positions_are_the_same_without_what_a_node_lacks() -> None:
    """Some nodes do not record what programs call."""
    orders = [routed(memo("a")), plain(FROM, TO, 3), plain(FROM, TO, 4)]
    answer = transaction(orders, *PAID_TWICE)
    whole = read_transaction(answer, asked=SIGNATURE, decimals={USDC: 6})
    answer["meta"]["innerInstructions"] = None
    less = read_transaction(answer, asked=SIGNATURE, decimals={USDC: 6})
    assert [one.position for one in less.credits] == [one.position for one in whole.credits]


def test_a_node_tells_of_two_payments_in_one_transaction_as_two(
    solana_node: SolanaNode, reader: SolanaAdapter, solana_owner: str
) -> None:
    first, second = new_owner(), new_owner()
    payments = [Payment(solana_owner, 3, USDC, [first]), Payment(solana_owner, 3, USDC, [second])]
    sent = solana_node.pay_all([*payments, Payment(new_owner(), 9)])
    told = read_one(reader, solana_owner)
    assert [(one.units, one.labels) for one in told] == [(3, (first,)), (3, (second,))]
    found = find(reader, sent)
    assert [one for one in found.transfers if one.recipient == solana_owner] == told
    assert [one.units for one in moved(found, solana_owner)] == [3, 3]


def test_an_owner_who_passes_money_on_is_told_both(solana_node: SolanaNode, reader: SolanaAdapter) -> None:
    shop, payer = Keypair(), solana_node.payer
    solana_node.pay(str(shop.pubkey()), 1)
    aside = auxiliary_account(solana_node, str(shop.pubkey()))
    mint = Pubkey.from_string(USDC)
    mine, its = (programs.token_account(one.pubkey(), mint) for one in (payer, shop))
    moves = [(mine, its, 10, payer), (its, mine, 4, shop), (its, aside, 2, shop)]
    solana_node.send(
        *(
            programs.transfer(source, target, units, owner=owner.pubkey(), mint=mint, program=programs.TOKEN)
            for source, target, units, owner in moves
        ),
        signers=[shop],
    )
    told = read_one(reader, str(shop.pubkey()))
    own = bytes(shop.pubkey())
    came = [one.units for one in told if one.recipient_key == own]
    left = [one.units for one in told if one.sender_key == own]
    assert (came, left) == ([1, 10], [4])


def test_a_mint_that_keeps_a_fee_gives_one_sum(solana_node: SolanaNode, open_on: OpenReader, solana_owner: str) -> None:
    token = solana_node.create_fee_token(basis_points=100)
    solana_node.fund(str(solana_node.payer.pubkey()), 20_000, token=token)
    solana_node.pay_all([Payment(solana_owner, 10_000, token), Payment(solana_owner, 5_000, token)])
    reader = open_on(token=token)
    [[told]] = read(reader, solana_owner)
    assert (told.units, told.is_sum) == (14_850, True)


def test_a_second_node_witnesses_each_part_and_the_sum_of_an_earlier_release(
    solana_node: SolanaNode, solana_proxy: RpcProxy, open_on: OpenReader, solana_owner: str
) -> None:
    reader = open_on(solana_node.url, solana_proxy.url)
    place = solana_node.pay(solana_owner, 1)
    single = next(one for one in read_one(reader, solana_owner) if one.tx_hash == place)
    solana_node.pay_all([Payment(solana_owner, 3), Payment(solana_owner, 4)])
    solana_node.finalize()
    parts = [one for one in read_one(reader, solana_owner) if one.tx_hash != place]
    summed = replace(parts[0], units=7, position=single.position)
    assert reader.witness([*parts, summed]) == [True] * 3
    wrong = replace(summed, units=3)
    swapped = replace(parts[0], position=parts[1].position)
    assert reader.witness([wrong, swapped]) == [False] * 2
