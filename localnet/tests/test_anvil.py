"""An anvil does what tests and demos rely on."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localnet.anvil import Anvil, anvil_binary
from localnet.errors import NodeMissingError, NodeStartError
from localnet.funding import PAYER_UNITS, payer, prepare_tokens
from localnet.tokens import balance_of, token_address, transfer

# One worker starts the node.
pytestmark = pytest.mark.xdist_group("anvil")

USDC = token_address("USDC")


def everything(node: Anvil) -> list[dict[str, object]]:
    """All logs there are."""
    logs: list[dict[str, object]] = node.rpc("eth_getLogs", {"fromBlock": "0x0"})
    return logs


def test_a_chain_lives_on_in_its_state_file(tmp_path: Path) -> None:
    state = tmp_path / "missing" / "base.json"
    with Anvil(8453, state=state) as node:
        tokens = prepare_tokens(node)
        genesis, logs = node.block(0)["hash"], everything(node)
        height = node.block_number()
    with Anvil(8453, state=state) as node:
        assert node.block(0)["hash"] == genesis
        assert node.block_number() == height
        assert everything(node) == logs
        assert prepare_tokens(node) == tokens
        assert node.block_number() == height
        assert balance_of(node, tokens["USDC"], payer(node).address) == PAYER_UNITS


def test_a_chain_keeps_its_first_block_however_often_it_is_started(tmp_path: Path) -> None:
    """anvil makes a new one each time, and readers take a chain with another first block for another chain."""
    firsts = set()
    for start in range(8):
        begun = ["--timestamp", str(1_800_000_000 + start)]
        with Anvil(8453, state=tmp_path / "base.json", extra=begun) as node:
            node.mine()
            firsts |= {node.block(0)["hash"], node.block(1)["parentHash"]}
    assert len(firsts) == 1


def test_a_half_written_state_file_is_set_aside_for_a_new_chain(tmp_path: Path) -> None:
    state = tmp_path / "base.json"
    state.write_text('{"block":')
    with Anvil(8453, state=state) as node:
        assert node.block_number() == 0
    assert (tmp_path / "base.broken").read_text() == '{"block":'


def test_a_platform_without_the_program_is_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "vax")
    with pytest.raises(NodeMissingError, match=r"anvil-linux-vax.*npm ci"):
        anvil_binary()


@pytest.mark.parametrize("take_away", [Anvil.shorten, Anvil.reorg])
def test_a_block_is_taken_away_once_its_transactions_left_the_pool(
    base_node: Anvil, monkeypatch: pytest.MonkeyPatch, take_away: Callable[[Anvil, int], None]
) -> None:
    """Until then anvil would mine them again: a payment that a test undid came back, on a busy machine."""
    sent = transfer(base_node, payer(base_node), USDC, to=base_node.accounts[1].address, units=5)
    late, asked, ask = [1, 2], [], base_node.rpc

    def behind(method: str, *params: Any) -> Any:
        asked.append(method)
        if method == "txpool_content" and late:
            late.pop()
            return {"pending": {"0x": {"0": {"hash": sent}}}, "queued": {}}
        return ask(method, *params)

    monkeypatch.setattr(base_node, "rpc", behind)
    take_away(base_node, 1)
    assert asked.count("txpool_content") == 3
    assert asked[-1] in {"anvil_rollback", "anvil_reorg"}


@pytest.mark.parametrize("take_away", [Anvil.shorten, Anvil.reorg, Anvil.roll_back])
def test_blocks_are_taken_away_once_the_last_one_is_made(
    base_node: Anvil, monkeypatch: pytest.MonkeyPatch, take_away: Callable[[Anvil, Any], None]
) -> None:
    """One that came afterwards stood above missing blocks, and each later test of this node failed."""
    to = 1 if take_away is not Anvil.roll_back else base_node.snapshot()
    transfer(base_node, payer(base_node), USDC, to=base_node.accounts[1].address, units=5)
    late, asked, ask = [1, 2], [], base_node.rpc

    def behind(method: str, *params: Any) -> Any:
        asked.append(method)
        told = ask(method, *params)
        return told | {"pending": hex(late.pop())} if method == "txpool_status" and late else told

    monkeypatch.setattr(base_node, "rpc", behind)
    take_away(base_node, to)
    assert asked[:3] == ["txpool_status"] * 3
    assert not late


def test_a_receipt_is_told_once_its_transaction_waits_for_no_block(
    base_node: Anvil, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then the node calls it pending to whoever asks for the transaction."""
    sent = transfer(base_node, payer(base_node), USDC, to=base_node.accounts[1].address, units=5)
    late, ask = [1, 2], base_node.rpc

    def behind(method: str, *params: Any) -> Any:
        told = ask(method, *params)
        return told | {"blockNumber": late.pop() and None} if method == "eth_getTransactionByHash" and late else told

    monkeypatch.setattr(base_node, "rpc", behind)
    assert base_node.receipt(sent)["status"] == "0x1"
    assert not late


def test_a_balance_is_read_once_what_was_sent_is_in_a_block(base_node: Anvil, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node tells a hash a moment before it mines: on a busy machine one balance of forty was the one before."""
    owner = base_node.accounts[1].address
    before, late, ask = balance_of(base_node, USDC, owner), [1, 2], base_node.rpc

    def behind(method: str, *params: Any) -> Any:
        told = ask(method, *params)
        return told | {"pending": hex(late.pop())} if method == "txpool_status" and late else told

    monkeypatch.setattr(base_node, "rpc", behind)
    assert balance_of(base_node, USDC, owner) == before
    assert not late
    base_node.set_automine(enabled=False)
    late.append(1)
    assert balance_of(base_node, USDC, owner) == before
    assert late == [1]


@pytest.mark.parametrize("is_kept", [False, True])
def test_only_states_in_memory_can_be_forked_from(
    start_node: Callable[..., Anvil], tmp_path: Path, is_kept: bool
) -> None:
    """What failed a fork test of Base now and then: anvil's default moves old states to disk and loads them empty.

    A payment in such a fork succeeds and moves nothing. Its block has no log and says so: an empty filter, which no reader
    could doubt. Only a chain that is kept in a file runs with that default here.
    """
    node = start_node(state=tmp_path / "base.json" if is_kept else None)
    prepare_tokens(node)
    begun = node.block_number()
    node.mine(600)
    node.reorg(node.block_number() - begun)
    sent = transfer(node, payer(node), USDC, node.accounts[5].address, 5)
    receipt = node.receipt(sent)
    logs = node.rpc("eth_getLogs", {"blockHash": receipt["blockHash"]})
    is_empty = not int(node.block(receipt["blockNumber"])["logsBloom"], 16)
    assert receipt["status"] == "0x1"
    assert logs == receipt["logs"]
    assert (len(logs), is_empty) == ((0, True) if is_kept else (1, False))


def test_a_port_that_is_taken_is_an_error_that_says_so(start_node: Callable[..., Anvil]) -> None:
    taken = start_node().port
    with pytest.raises(NodeStartError, match="in use"):
        Anvil(1, port=taken).start()
