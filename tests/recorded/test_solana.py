"""The Solana adapter reads what mainnet nodes answered."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.recorded.replay import Replay
from tests.recorded.samples import sample
from tests.recorded.stages import SOLANA_GENESIS, as_json_encoding, mainnet, opened
from wallets.chains.base import Account, BlockRef, FoundTransaction, Head, MalformedAnswerError
from wallets.chains.rpc.client import Node
from wallets.chains.solana.adapter import SolanaAdapter
from wallets.chains.solana.decode import TOKEN_2022_PROGRAM, TOKEN_PROGRAM, from_base58
from wallets.chains.solana.questions import ask_programs

TRANSFER = sample("solana_getTransaction.usdc_transferChecked_json")
PARSED = sample("solana_getTransaction.usdc_transferChecked_jsonParsed")
LISTING = sample("solana_getSignaturesForAddress")
MINT = sample("solana_mint.usdc_spl_token")
FOREIGN_MINT = sample("solana_mint.pyusd_token2022")

PAYER = "8fusVwhgo4oS1fGpZKeRaXrJXQk9auKnAgcj9A97wR3t"
FEE_PAYER = "FG4Y3yX4AAchp1HvNZ7LfzFTewF2f6nDoMDCohTFrdpT"
OWNER = "3i476kTBBTy7pBGx4CXwJpJ6phuwLQgcwLTdHhU3c7ui"


def found_in(transaction: Any, signature: str) -> FoundTransaction:
    told = {"getGenesisHash": SOLANA_GENESIS, "getTransaction": transaction}
    with Replay(told) as node, opened(mainnet("solana", node.url), SolanaAdapter) as adapter:
        found = adapter.find(signature)
    assert found is not None
    return found


def test_a_recorded_transfer_into_a_new_token_account_is_looked_up() -> None:
    found = found_in(TRANSFER.result, TRANSFER.request["params"][0])
    [usdc] = [one for one in found.movements if one.token == "USDC"]
    assert (found.succeeded, usdc.units) == (True, 100_000)
    assert usdc.recipient == "3UJQqKq8Xyx4aVRmHgEwpQZiW7toYRQCTy6Bgp1RdKnK"
    assert usdc.sender == "37BenMAXFJMo3GaXKb2XLsNQXmd6VbbdShZWnwDj9D6k"
    assert [one.units for one in found.transfers] == [100_000]
    # The rent's account, the programs and the recipient have roles of their own: none of them is a label.
    assert found.transfers[0].labels == ()


def test_whoever_paid_the_fee_is_not_taken_for_the_payer() -> None:
    found = found_in(as_json_encoding(PARSED.result), PARSED.request["params"][0])
    [transfer] = found.transfers
    assert (transfer.units, transfer.recipient) == (1_000, OWNER)
    keys = PARSED.result["transaction"]["message"]["accountKeys"]
    assert (transfer.sender, keys[0]["pubkey"]) == (PAYER, FEE_PAYER)
    assert "transfer" in transfer.labels


def test_a_transaction_in_an_encoding_not_asked_for_is_refused() -> None:
    with pytest.raises(MalformedAnswerError):
        found_in(PARSED.result, PARSED.request["params"][0])


def test_a_wallet_is_read_from_its_recorded_listing() -> None:
    asked: list[str] = []

    def listing(params: Any) -> Any:
        asked.append(params[0])
        return LISTING.result

    told = {
        "getGenesisHash": SOLANA_GENESIS,
        "getAccountInfo": MINT.result,
        "getSignaturesForAddress": listing,
        "getTransaction": as_json_encoding(PARSED.result),
    }
    slot, time = PARSED.result["slot"], datetime(2023, 3, 27, tzinfo=UTC)
    account = Account(from_base58(OWNER), OWNER, slot - 5, time)
    head = Head(BlockRef(slot + 5, f"slot:{slot + 5}", "", time), agreed=True)
    with Replay(told) as node, opened(mainnet("solana", node.url), SolanaAdapter) as adapter:
        [reading] = adapter.read_accounts([account], head=head)
    # Derived here, and recorded there: the recipient's associated token account.
    assert asked == [LISTING.request["params"][0]]
    [transfer] = reading.transfers
    assert (transfer.tx_hash, transfer.units) == (LISTING.result[0]["signature"], 1_000)


@pytest.mark.parametrize(
    ("mint", "program"),
    [(MINT, TOKEN_PROGRAM), (FOREIGN_MINT, TOKEN_2022_PROGRAM)],
    ids=["usdc", "a foreign token of Token-2022"],
)
def test_the_program_of_a_recorded_mint_is_read(mint: Any, program: str) -> None:
    address = mint.request["params"][0]
    with Replay({"getAccountInfo": mint.result}) as replay:
        node = Node(replay.url)
        assert ask_programs(node, [address]) == {address: program}
        node.close()
