"""Whose history is read next, and how far it is."""

from contextlib import suppress
from typing import Any

import pytest

from tests.nodes.proxy import garbage, honest, one_by_one, refuses
from tests.wallets.factories import read_all
from tests.wallets.watched.bench import SHOP, Bench, gives_at_most
from tests.wallets.watching import Beside, moved, watch
from wallets.chains.base import ChainError
from wallets.watched.history import UNAVAILABLE, UNSOUND
from wallets.watched.selectors import history_progress

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("never_rests")]

TILL = "0x000000000000000000000000000000000f71bafe"


def test_a_restart_goes_on_where_the_last_process_was(bench: Bench) -> None:
    paid = bench.pay(SHOP, 11)
    bench.node.mine(300)
    read_all(bench.books.watcher)
    shop = watch(SHOP)
    bench.fault(gives_at_most(100))
    bench.open()
    bench.beside.tick(3, after=60.0)
    shop.refresh_from_db()
    before = shop.history_height
    assert before is not None
    assert (history_progress(shop) or 0) > 0
    bench.beside.close()

    asked: list[int] = []

    def note(request: Any, ask: Any) -> Any:
        if request["method"] == "eth_getLogs":
            asked.append(int(request["params"][0].get("fromBlock", "0xffffff"), 16))
        return ask(request)

    bench.fault(one_by_one(note))
    bench.beside = Beside(bench.spec)
    bench.import_all(shop)
    assert min(asked) == before + 1
    assert moved(shop) == [("in", 11, paid)]


def test_wallets_that_are_added_together_are_asked_for_together(bench: Bench) -> None:
    bench.pay(SHOP, 1)
    bench.pay(TILL, 2)
    bench.node.mine(100)
    read_all(bench.books.watcher)
    wallets = [watch(SHOP), watch(TILL), watch(SHOP)]
    questions: list[int] = []

    def note(request: Any, ask: Any) -> Any:
        if request["method"] == "eth_getLogs":
            questions.append(len(request["params"][0]["topics"][-1]))
        return ask(request)

    bench.open()
    bench.fault(one_by_one(note))
    for wallet in wallets:
        bench.import_all(wallet)
    assert {*questions} == {2}
    assert [len(moved(wallet)) for wallet in wallets] == [1, 1, 1]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param(refuses(-32000, "no state", method="eth_getLogs"), UNAVAILABLE, id="refuses"),
        pytest.param(garbage(b"{}"), UNSOUND, id="garbage"),
        pytest.param(gives_at_most(0), UNAVAILABLE, id="gives nothing"),
    ],
)
def test_a_failure_is_told_and_tried_again(bench: Bench, fault: Any, words: str) -> None:
    paid = bench.pay(SHOP, 3)
    bench.node.mine(100)
    read_all(bench.books.watcher)
    shop = watch(SHOP)
    bench.open()
    bench.fault(fault)
    for _ in range(4):
        with suppress(ChainError):
            bench.beside.tick(after=120.0)
    shop.refresh_from_db()
    assert (shop.history_error, moved(shop)) == (words, [])
    bench.fault(honest)
    bench.import_all(shop)
    assert (shop.history_error, moved(shop)) == ("", [("in", 3, paid)])
