"""A pool has a node for each address, opened with the key that is for it."""

import pytest

from wallets.chains.adapters import open_pool
from wallets.chains.registry import load_chains
from wallets.chains.rpc.client import Node
from wallets.chains.solana.family import SOLANA_FAMILY


def test_each_node_has_its_own_key_and_the_last_may_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, str]] = []

    def open_node(url: str, *, api_key: str) -> Node:
        opened.append((url, api_key))
        return Node(url)

    monkeypatch.setattr(SOLANA_FAMILY, "open_node", open_node, raising=False)
    urls = "https://one.example,https://two.example"
    given = {"SOLANA_RPC_URLS": urls, "SOLANA_API_KEYS": "first-key"}
    open_pool(load_chains("mainnet", given)["solana"]).close()
    assert opened == [("https://one.example", "first-key"), ("https://two.example", "")]
