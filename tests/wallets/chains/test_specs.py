"""What a chain's description says of itself."""

from wallets.chains.registry import load_chains


def test_a_transaction_is_linked_wherever_there_is_an_explorer() -> None:
    base = load_chains("mainnet", {})["base"]
    assert base.transaction_url("0x1") == "https://basescan.org/tx/0x1"
    # Whatever a node called a transaction stays one part of the link.
    assert base.transaction_url("a/b?c") == "https://basescan.org/tx/a%2Fb%3Fc"
    assert load_chains("local", {})["base"].transaction_url("0x1") is None


def test_what_is_confused_with_a_token_is_watched_and_not_accepted() -> None:
    base = load_chains("mainnet", {})["base"]
    assert [token.symbol for token in base.accepted_tokens] == ["USDC"]
    assert set(base.tokens) > {"USDC"}


def test_only_a_local_chain_may_begin_anew() -> None:
    local = {n: load_chains(n, {})["base"].is_local for n in ("mainnet", "testnet", "local")}
    assert local == {"mainnet": False, "testnet": False, "local": True}
