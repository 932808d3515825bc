"""Waiting for a node, and what the demo's file says of its chain."""

import pytest
from solders.keypair import Keypair

from demo.nodes import base
from demo.nodes.base import LocalChain, await_answer
from demo.nodes.solana_accounts import NETWORK_PAYER, NETWORK_PAYER_KEY
from localnet.errors import NodeStartError


def test_a_node_is_asked_until_it_answers() -> None:
    answers = iter([OSError(), ConnectionRefusedError(), None])

    def ask() -> None:
        if error := next(answers):
            raise error

    await_answer("base", ask)
    assert next(answers, "asked no more") == "asked no more"


def test_a_node_that_never_answers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "START_SECONDS", 0.05)

    def ask() -> None:
        raise ConnectionRefusedError

    with pytest.raises(NodeStartError, match="The base node does not answer"):
        await_answer("base", ask)


def test_other_mistakes_are_not_waited_out() -> None:
    def ask() -> None:
        raise ValueError("wrong question")

    with pytest.raises(ValueError, match="wrong question"):
        await_answer("base", ask)


def test_a_chain_is_written_without_its_name_and_its_key_is_in_no_log() -> None:
    chain = LocalChain("base", "evm", "http://a", "http://b", {"USDC": "0x1"}, "0x2", "secret")
    told = chain.as_json()
    assert "name" not in told
    assert (told["tokens"], told["chain_id"]) == ({"USDC": "0x1"}, None)
    assert "secret" not in repr(chain)


def test_solanas_key_is_the_payers() -> None:
    assert str(Keypair.from_base58_string(NETWORK_PAYER_KEY).pubkey()) == NETWORK_PAYER
