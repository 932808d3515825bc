"""How the local chain tells transactions."""

import pytest
from solders.keypair import Keypair

from demo.localnet.errors import NodeError
from demo.localnet.solana.node import Format, Payment, SolanaNode
from tests.demo.localnet.solana.questions import CONFIRMED, listed, transaction


def test_a_versioned_transaction_is_told_only_to_who_asks_for_it(solana_node: SolanaNode, solana_owner: str) -> None:
    sent = solana_node.pay_all([Payment(solana_owner, 3)], written=Format(version=0))
    assert transaction(solana_node, sent)["version"] == 0
    with pytest.raises(NodeError, match="version") as refused:
        solana_node.rpc("getTransaction", sent, CONFIRMED)
    assert refused.value.code == -32015


def test_a_lookup_table_brings_accounts_that_the_message_does_not_name(
    solana_node: SolanaNode, solana_owner: str
) -> None:
    account, reference = solana_node.token_account(solana_owner), str(Keypair().pubkey())
    table = solana_node.create_lookup_table([account, reference])
    sent = solana_node.pay_all([Payment(solana_owner, 3, references=[reference])], written=Format(0, [table]))
    found = transaction(solana_node, sent)
    assert found["meta"]["loadedAddresses"] == {"writable": [account], "readonly": [reference]}
    assert account not in found["transaction"]["message"]["accountKeys"]
    keys = transaction(solana_node, sent, encoding="jsonParsed")["transaction"]["message"]["accountKeys"]
    told = {key["pubkey"]: (key["writable"], key["source"]) for key in keys}
    assert told[account] == (True, "lookupTable")
    assert told[reference] == (False, "lookupTable")
    assert listed(solana_node, solana_owner) == [sent]
