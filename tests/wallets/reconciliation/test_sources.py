"""Sources that lag, fork, fail or give little at once, and when they are asked."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from localnet.anvil import Anvil
from tests.nodes.proxy import Fault, drops, garbage, honest, lags, one_by_one, results
from tests.wallets.books import EVERY, LEAVES_OUT, Books, Open, cursor, differences, without
from wallets.models import ChainCursor, Transfer
from wallets.watchers.leases import release_lease

pytestmark = pytest.mark.django_db


def test_a_node_that_lags_is_compared_up_to_where_it_is(books: Books) -> None:
    books.pay()
    behind = books.node.block_number()
    tx_hash = books.pay()
    books.second.fault = lags(behind)
    books.compare()
    assert differences() == []
    books.first.fault = one_by_one(without(tx_hash))
    books.second.fault = honest
    books.compare()
    assert differences() == [("unknown", tx_hash, books.first.url)]


def invents_blocks(method: str, result: Any) -> Any:
    """Serve other blocks than everybody else, from the second on."""
    if method == "eth_getBlockByNumber" and result and int(result["number"], 16):
        return result | {"hash": "0x" + result["hash"][:1:-1]}
    return result


def begins_elsewhere(method: str, result: Any) -> Any:
    """Serve another first block."""
    if method == "eth_getBlockByNumber" and result and not int(result["number"], 16):
        return result | {"hash": "0x" + result["hash"][:1:-1]}
    return result


@pytest.mark.parametrize("change", [invents_blocks, begins_elsewhere])
def test_a_node_on_another_fork_or_chain_is_told_and_not_believed(books: Books, change: Any) -> None:
    books.first.fault = LEAVES_OUT
    books.pay()
    books.second.fault = results(change)
    books.compare()
    assert not Transfer.objects.exists()
    assert differences() == []
    assert cursor().disagreeing_since is not None
    assert cursor().reconciled_at is None
    books.second.fault = honest
    books.compare()
    assert Transfer.objects.count() == 1
    assert cursor().disagreeing_since is None


@pytest.mark.parametrize("fault", [drops, garbage()], ids=["drops", "garbage"])
def test_a_source_that_fails_leaves_the_pass_undone(books: Books, fault: Fault) -> None:
    books.pay()
    books.second.fault = fault
    books.compare()
    assert cursor().reconciled_at is None
    assert differences() == []
    books.second.fault = honest
    books.compare()
    assert cursor().reconciled_at is not None


def test_a_provider_that_gives_few_blocks_at_once_is_compared_whole(books: Books) -> None:
    books.first.fault = LEAVES_OUT
    tx_hash = books.pay()
    books.node.mine(300)

    def few(request: Any, ask: Any) -> Any:
        asked = request["params"][0] if request["method"] == "eth_getLogs" else {}
        if "fromBlock" in asked:
            size = int(asked["toBlock"], 16) - int(asked["fromBlock"], 16)
            if size >= 50:
                error = {"code": -32005, "message": "block range is too large"}
                return {"jsonrpc": "2.0", "id": request["id"], "error": error}
        return ask(request)

    books.second.fault = one_by_one(few)
    books.compare()
    assert differences() == [("missed", tx_hash, books.second.url)]
    assert cursor().reconciled_at is not None


def test_one_node_alone_is_not_asked_again(base_node: Anvil, open_books: Open) -> None:
    books = open_books(base_node, nodes=1)
    books.pay()
    before = books.first.requests
    books.clock.seconds += 2 * EVERY
    books.reconciler.tick(now=timezone.now())
    assert books.first.requests == before


def test_who_does_not_read_the_chain_compares_nothing(books: Books) -> None:
    books.first.fault = LEAVES_OUT
    books.pay()
    release_lease("base", "one")
    before = books.second.requests
    books.clock.seconds += EVERY
    books.reconciler.tick(now=timezone.now())
    assert books.second.requests == before
    assert not Transfer.objects.exists()


def test_a_pass_begins_so_many_seconds_after_the_last_began(books: Books) -> None:
    books.pay()
    books.compare()
    before = books.second.requests
    books.clock.seconds += EVERY - 1
    books.reconciler.tick(now=timezone.now())
    assert books.second.requests == before
    books.clock.seconds += 1
    books.reconciler.tick(now=timezone.now())
    books.reconciler.tick(now=timezone.now())
    books.reconciler.tick(now=timezone.now())
    assert books.second.requests > before


def test_a_pass_that_is_overdue_begins_with_the_process(books: Books) -> None:
    books.first.fault = LEAVES_OUT
    books.pay()
    last = timezone.now() - timedelta(seconds=EVERY)
    ChainCursor.objects.update(reconciled_at=last)
    for _ in range(4):
        books.reconciler.tick(now=timezone.now())
    assert Transfer.objects.count() == 1
