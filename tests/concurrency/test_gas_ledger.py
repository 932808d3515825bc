"""Processes share a gas key: each number is given out once, and nothing that was asked for is lost."""

import threading
from collections.abc import Mapping, Sequence
from functools import partial

import pytest
from django.db import IntegrityError

from localnet.anvil import Anvil
from settlements.gas import ledger
from settlements.gas.keys import GasKey
from settlements.gas.node import gas_node
from settlements.models import GasAccount, GasTransaction
from tests.concurrency.races import together
from tests.exhaustive import EXHAUSTIVE
from tests.settlements.calls import ask
from tests.settlements.processes import start
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

EACH = 50 if EXHAUSTIVE else 12


def settled(base_node: Anvil, *names: str) -> list[list[str]]:
    """What a process for each name said of its settles."""
    chain = {"CHAIN_BASE_RPC_URLS": base_node.url, "GAS_KEYS": base_node.accounts[3].key, "GAS_DAILY_COINS": "base=100"}
    started = [start("settle", name, str(EACH), chain=chain) for name in names]
    said = [process.communicate(timeout=PATIENCE_SECONDS)[0] for process in started]
    assert [process.returncode for process in started] == [0] * len(names)
    return [lines.split("\n")[:-1] for lines in said]


@pytest.mark.slow
def test_two_processes_with_one_key_settle_many_times_and_succeed_each_time(
    base_settings: object, base_node: Anvil
) -> None:
    account = base_node.accounts[3].address
    before = int(base_node.rpc("eth_getTransactionCount", account, "latest"), 16)
    lines = [line for said in settled(base_node, "a", "b") for line in said]
    numbers = sorted(int(line.split()[0]) for line in lines)
    assert numbers == list(range(before, before + 2 * EACH))
    assert {line.split()[1] for line in lines} == {"True"}
    assert GasTransaction.objects.count() == 2 * EACH
    assert GasAccount.objects.get().next_nonce == before + 2 * EACH


@pytest.mark.slow
def test_two_processes_that_settle_the_same_things_send_each_once(base_settings: object, base_node: Anvil) -> None:
    first, second = settled(base_node, "same", "same")
    assert sorted(first) == sorted(second)
    assert GasTransaction.objects.count() == EACH


def in_pairs(monkeypatch: pytest.MonkeyPatch, *, locked: bool) -> list[object]:
    """Two threads that look at the account's number, and only then go on; return the numbers they got, or their errors."""
    met = threading.Barrier(2, timeout=PATIENCE_SECONDS)
    real = ledger._locked

    def look(chain: str, keys: Mapping[str, GasKey], sender: str) -> Sequence[GasAccount]:
        if locked:
            return real(chain, keys, sender)
        found = list(GasAccount.objects.filter(chain=chain))
        met.wait()
        return found

    def one(reference: str) -> object:
        with gas_node("base") as node:
            try:
                return ask(node, reference).nonce
            except IntegrityError as error:
                return type(error)

    monkeypatch.setattr(ledger, "_locked", look)
    return together(partial(one, "x"), partial(one, "y"))


def test_two_threads_at_once_get_two_numbers(monkeypatch: pytest.MonkeyPatch, base_settings: object) -> None:
    with gas_node("base") as node:
        first = ask(node, "first").nonce
    assert sorted(map(str, in_pairs(monkeypatch, locked=True))) == sorted([str(first + 1), str(first + 2)])


def test_without_the_accounts_lock_both_take_the_same_number(
    monkeypatch: pytest.MonkeyPatch, base_settings: object
) -> None:
    """The negative control of the test above: the constraint stops the second one."""
    with gas_node("base") as node:
        ask(node, "first")
    assert IntegrityError in in_pairs(monkeypatch, locked=False)
