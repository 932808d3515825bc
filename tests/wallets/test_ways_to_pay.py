"""The guide's table of the ways to pay in one transaction says only what a test shows, row by row."""

import re
from typing import Final

from tests.tree import ROOT

GUIDE: Final = ROOT / "docs/guide/chains.md"

LAB: Final = "wallets/contract/test_payments.py::"
PARTS: Final = "wallets/chains/solana/test_changes_parts.py::"
BY_HASH: Final = "x402/byhash/"
ON_TON: Final = f"{BY_HASH}test_service_parts.py::test_on_ton_each_transfer_of_one_message_is_a_payment"
NEVER_ADDED: Final = f"{LAB}test_transfers_of_one_transaction_to_one_wallet_are_never_added_up"
BOTH_TOLD: Final = f"{LAB}test_two_transfers_of_one_transaction_are_both_told"

# How each row begins, and the tests that show its cells. Those of LAB run on a node of each family; the rest names its chain.
SHOWN: Final = {
    "one transfer": [
        "wallets/watchers/test_blocks.py::test_a_payment_is_detected_in_the_next_pass",
        f"{PARTS}test_a_single_transfer_keeps_the_position_that_it_had",
        f"{LAB}test_a_payment_is_told_with_all_that_is_needed_to_join_it",
    ],
    "several transfers to one owner": [
        NEVER_ADDED,
        "wallets/watchers/test_blocks.py::test_each_transfer_of_a_transaction_has_its_own_position",
        f"{PARTS}test_two_transfers_to_one_owner_are_two_however_they_are_made",
    ],
    "several of the same amount": [
        NEVER_ADDED,
        f"{PARTS}test_two_transfers_to_one_owner_are_two_however_they_are_made",
    ],
    "one transfer to each of several owners": [
        BOTH_TOLD,
        "checkouts/attribution/test_one_transaction.py::test_two_merchants_are_each_paid_their_own",
        "checkouts/attribution/test_one_transaction.py::test_one_transaction_pays_a_checkout_and_the_machines",
        f"{BY_HASH}test_service.py::test_of_several_transfers_each_pays_by_itself",
        "wallets/chains/ton/test_find_causes.py::test_what_goes_to_several_at_once_is_told_apart",
    ],
    "a smart account": [BOTH_TOLD, f"{PARTS}test_money_that_only_passed_through_is_from_who_gave_it", ON_TON],
    "one message with several actions": [ON_TON],
    "several tokens at once": ["wallets/chains/test_others.py::test_a_transaction_of_both_kinds_is_told_once"],
    "several token accounts of one owner": [f"{PARTS}test_several_token_accounts_of_one_owner_are_several_transfers"],
    "part of it goes back": [f"{PARTS}test_nothing_is_netted_of_an_owner_who_signed"],
    "an owner pays itself": [f"{LAB}test_what_a_wallet_sends_to_itself_is_no_payment"],
    "references and comments": [
        f"{PARTS}test_each_transfer_has_the_labels_of_its_own_instruction",
        "wallets/chains/ton/test_cells_messages.py::test_a_payload_is_a_comment_where_it_is_plain_text",
    ],
    "a fee that the instruction names": [f"{PARTS}test_a_fee_that_a_transfer_names_is_a_movement_to_nobody"],
    "a fee that the mint keeps back": [
        f"{PARTS}test_a_mint_that_keeps_a_fee_gives_one_sum",
        f"{PARTS}test_what_the_instructions_do_not_explain_is_one_sum_and_says_so",
    ],
    "minted to the owner": [
        f"{PARTS}test_two_transfers_to_one_owner_are_two_however_they_are_made",
        "wallets/chains/ton/test_cells_messages.py::test_what_the_master_gave_has_no_sender",
    ],
}


def test_each_way_to_pay_in_one_transaction_has_its_tests() -> None:
    table = GUIDE.read_text().partition("| way to pay | ")[2].partition("\n\n")[0]
    ways = re.findall(r"^\| ([^|-][^|]+?) \|", table, re.MULTILINE)
    assert len(ways) == len(SHOWN), ways
    assert [way for way, begin in zip(ways, SHOWN, strict=True) if not way.startswith(begin)] == []
    for place in {place for places in SHOWN.values() for place in places}:
        path, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / path).read_text(), place
