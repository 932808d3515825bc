"""`manage.py chains`: what an operator sees of the chains, and how he has them read again."""

import json
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from demo.localnet.anvil import Anvil
from demo.localnet.funding import payer
from demo.localnet.tokens import token_address
from tests.wallets.accountchains import OnSolana, make_expected, open_account_watcher
from tests.wallets.accountchains import read_all as read_accounts
from tests.wallets.directions import pay, shop, spend
from tests.wallets.factories import address_of, make_deposit, make_watcher, read_all
from tests.wallets.paying import transfer
from tests.wallets.watching import moved, watch
from wallets.models import (
    AccountCursor,
    Block,
    ChainCursor,
    ReceivingWallet,
    SourceDifference,
    Transfer,
    WatchedMovement,
)
from wallets.states import TransferState
from wallets.watchers.blocks import Watcher

pytestmark = pytest.mark.django_db
USDC = token_address("USDC")


@pytest.fixture
def configure(settings: Any) -> Callable[..., None]:
    """Set the chains' settings."""

    def configure(**given: str) -> None:
        settings.CHAIN_NETWORK = "local"
        settings.CHAIN_SETTINGS = given

    return configure


@pytest.fixture
def base(base_node: Anvil, configure: Callable[..., None]) -> Iterator[Watcher]:
    """A watched chain."""
    configure(BASE_RPC_URLS=base_node.url, BASE_TOKEN_USDC=USDC, BASE_CONFIRMATIONS="6")
    watcher = make_watcher(base_node.url)
    yield watcher
    watcher.close()


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("chains", *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def as_json() -> dict[str, Any]:
    return {one["chain"]: one for one in json.loads(run("--json"))}


def test_it_tells_how_far_a_chain_is_read_and_how_its_node_answers(
    base_node: Anvil, base: Watcher
) -> None:
    make_deposit()
    read_all(base)
    told = as_json()["base"]
    height = base_node.block_number()
    assert (told["status"], told["network"], told["pace"]) == ("ok", "local", "full")
    assert (told["head"], told["height"], told["behind_blocks"]) == (height, height, 0)
    assert told["behind_seconds"] <= 5
    assert told["requests_minute"] == base._adapter.requests
    assert told["requests_allowed"] is None
    [node] = told["nodes"]
    assert (node["label"], node["is_ours"], node["height"]) == (
        base_node.url,
        True,
        height,
    )
    assert node["error"] == ""
    assert node["milliseconds"] < 5_000


def test_the_table_says_the_same_in_a_line_for_each_chain(
    base_node: Anvil, base: Watcher
) -> None:
    read_all(base)
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
    base: Watcher, polygon_node: Anvil, configure: Callable[..., None]
) -> None:
    read_all(base)
    configure(BASE_RPC_URLS=polygon_node.url)
    [node] = as_json()["base"]["nodes"]
    assert node["is_ours"] is False
    assert "chain id 137" in node["error"]


def test_trouble_and_open_differences_are_told(base: Watcher) -> None:
    read_all(base)
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
    assert "trouble: a deep fork" in run()


def test_a_range_read_again_brings_what_was_missed_and_moves_nothing(
    base_node: Anvil, base: Watcher
) -> None:
    to = address_of(make_deposit())
    hashes = [
        transfer(base_node, payer(base_node), USDC, to, units) for units in (1, 2)
    ]
    base_node.mine(80)
    read_all(base)
    first = Transfer.objects.get(units=1).block_height
    Transfer.objects.get(units=2).delete()
    before = ChainCursor.objects.values().get()
    blocks = Block.objects.count()
    told = run("--rescan", "base", "--from", str(first))
    assert f"new: 2 units of USDC to {to} in {hashes[1]}" in told
    assert "2 transfers in blocks" in told
    assert "1 of them new" in told
    assert ChainCursor.objects.values().get() == before
    assert Block.objects.count() == blocks
    assert "0 of them new" in run("--rescan", "base", "--from", "0")
    read_all(base)
    assert Transfer.objects.get(units=2).state == TransferState.CONFIRMED


def test_only_the_range_is_read_again(base_node: Anvil, base: Watcher) -> None:
    to = address_of(make_deposit())
    for units in (1, 2, 3):
        transfer(base_node, payer(base_node), USDC, to, units)
    base_node.mine(10)
    read_all(base)
    height = Transfer.objects.get(units=2).block_height
    Transfer.objects.all().delete()
    run("--rescan", "base", "--from", str(height), "--to", str(height))
    assert [int(one.units) for one in Transfer.objects.all()] == [2]


def test_what_a_fork_may_still_replace_is_left_to_the_watcher(
    base_node: Anvil, base: Watcher
) -> None:
    to = address_of(make_deposit())
    transfer(base_node, payer(base_node), USDC, to, 1)
    read_all(base)
    Transfer.objects.all().delete()
    with pytest.raises(CommandError, match="read and final"):
        run("--rescan", "base", "--from", str(base_node.block_number()))
    assert not Transfer.objects.exists()


def test_another_chain_than_the_one_read_is_not_read_again(base: Watcher) -> None:
    read_all(base)
    ChainCursor.objects.update(genesis_hash="0x" + "00" * 32)
    with pytest.raises(CommandError, match="another chain"):
        run("--rescan", "base", "--from", "0")


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
def test_a_range_that_cannot_be_read_is_refused(
    arguments: tuple[str, ...], base: Watcher
) -> None:
    assert base is not None
    with pytest.raises(CommandError):
        run(*arguments)


def test_accounts_are_read_again_from_a_height_on(
    solana_node: Any, configure: Callable[..., None]
) -> None:
    chain = OnSolana(solana_node)
    configure(SOLANA_RPC_URLS=chain.url)
    watcher, to = open_account_watcher(chain), chain.new_address()
    make_expected(chain, to)
    # A chain's clock need not be ours.
    ReceivingWallet.objects.update(created_at=timezone.now().replace(year=2001))
    read_accounts(watcher)
    first = solana_node.slot()
    for units in (1, 2):
        chain.pay(to, units)
    chain.pass_time()
    read_accounts(watcher)
    Transfer.objects.get(units=2).delete()
    before = AccountCursor.objects.values().get(), ChainCursor.objects.values().get()
    told = run("--rescan", "solana", "--from", str(first))
    assert "1 of them new" in told
    assert (
        AccountCursor.objects.values().get(),
        ChainCursor.objects.values().get(),
    ) == before
    told = as_json()["solana"]
    assert (told["accounts"], told["broken_accounts"]) == (1, 0)
    assert told["oldest_account_seconds"] <= 5
    assert told["requests_allowed"] == 200
    [node] = told["nodes"]
    assert (node["is_ours"], node["error"]) == (True, "")
    watcher.close()


def test_a_range_is_read_again_in_both_directions(
    base_node: Anvil, base: Watcher
) -> None:
    buyer = watch(shop(base_node).address)
    received, sent = pay(base_node, buyer.address), spend(base_node, 5)
    base_node.mine(10)
    read_all(base)
    WatchedMovement.objects.all().delete()
    assert "0 transfers in blocks" in run("--rescan", "base", "--from", "0")
    assert moved(buyer) == [("in", 25, received), ("out", 5, sent)]
