"""`manage.py chains`: what an operator sees of the chains, and how he has them read again."""

from collections.abc import Callable

import pytest
from django.core.management import CommandError
from django.utils import timezone

from localnet.anvil import Anvil
from tests.wallets.chain_reports import as_json, run
from tests.wallets.factories import make_deposit, read_all
from wallets.models import ChainCursor, SourceDifference
from wallets.watchers.blocks import Watcher

pytestmark = pytest.mark.django_db


def test_it_tells_how_far_a_chain_is_read_and_how_its_node_answers(base_node: Anvil, base_watcher: Watcher) -> None:
    make_deposit()
    read_all(base_watcher)
    told = as_json()["base"]
    height = base_node.block_number()
    assert (told["status"], told["network"], told["pace"]) == ("ok", "local", "full")
    assert (told["head"], told["height"], told["behind_blocks"]) == (height, height, 0)
    assert told["behind_seconds"] <= 5
    assert told["requests_minute"] == base_watcher._adapter.requests
    assert told["requests_allowed"] is None
    [node] = told["nodes"]
    assert (node["label"], node["is_ours"], node["height"]) == (base_node.url, True, height)
    assert node["error"] == ""
    assert node["milliseconds"] < 5_000


def test_the_table_says_the_same_in_a_line_for_each_chain(base_node: Anvil, base_watcher: Watcher) -> None:
    read_all(base_watcher)
    heading, line, *rest = run().splitlines()
    assert heading.split("  ")[0] == "chain"
    height = str(base_node.block_number())
    assert line.split()[:6] == ["base", "local", "ok", height, height, "0"]
    assert "idle" in line
    assert f"{base_node.url}" in "\n".join(rest)


def test_without_a_node_it_says_what_to_set(configure: Callable[..., None]) -> None:
    configure()
    assert "CHAIN_<NAME>_RPC_URLS" in run()


def test_a_node_of_another_chain_is_told(
    base_watcher: Watcher, polygon_node: Anvil, configure: Callable[..., None]
) -> None:
    read_all(base_watcher)
    configure(BASE_RPC_URLS=polygon_node.url)
    [node] = as_json()["base"]["nodes"]
    assert node["is_ours"] is False
    assert "chain id 137" in node["error"]


def test_trouble_and_open_differences_are_told(base_watcher: Watcher) -> None:
    read_all(base_watcher)
    ChainCursor.objects.update(halted_reason="a deep fork")
    for closed_at in (None, timezone.now()):
        SourceDifference.objects.create(
            chain="base",
            kind="missed",
            tx_hash=str(closed_at),
            position=0,
            recipient="0x",
            token="USDC",
            units=1,
            block_height=1,
            source="http://node",
            found_at=timezone.now(),
            closed_at=closed_at,
        )
    told = as_json()["base"]
    assert (told["status"], told["trouble"]) == ("down", "a deep fork")
    assert told["open_differences"] == 1
    assert "problem: a deep fork" in run()


@pytest.mark.parametrize(
    "arguments",
    [
        ("--rescan", "solana", "--from", "0"),
        ("--rescan", "atlantis", "--from", "0"),
        ("--rescan", "base"),
        ("--rescan", "base", "--from", "-1"),
        ("--rescan", "base", "--from", "9", "--to", "8"),
        ("--from", "9"),
        ("--rescan", "base", "--from", "0"),
    ],
)
def test_a_range_that_cannot_be_read_is_refused(arguments: tuple[str, ...], base_watcher: Watcher) -> None:
    assert base_watcher is not None
    with pytest.raises(CommandError):
        run(*arguments)
