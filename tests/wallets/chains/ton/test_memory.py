"""What is remembered of TON's nodes is kept by node, and bounded."""

import pytest

from tests.wallets.transfers.told import told_transfer
from wallets.chains.ton import adapter
from wallets.chains.ton.adapter import TonMemory
from wallets.chains.ton.decode import Listed

PLACE = (b"\x01" * 33, b"\x02" * 33)


def listed(name: str) -> Listed:
    return Listed(name, b"", *PLACE, b"", 1, 1)


def test_what_one_node_told_does_not_answer_for_another() -> None:
    known, transfer = TonMemory(), told_transfer()
    known.keep("one", {"a": transfer, "b": None})
    known.keep_wallets("one", {PLACE: b"\x03" * 33})
    asked = [listed("a"), listed("b"), listed("c")]
    # None: nothing was received, which is known too.
    assert known.recall("one", asked) == {"a": transfer, "b": None}
    assert known.recall("two", asked) == {}
    assert known.wallets("one", [PLACE]) == {PLACE: b"\x03" * 33}
    assert known.wallets("two", [PLACE]) == {}


def test_what_is_forgotten_is_not_known() -> None:
    known = TonMemory()
    known.keep("one", {"a": None})
    known.keep_wallets("one", {PLACE: b"\x03" * 33})
    known.clear()
    assert known.recall("one", [listed("a")]) == {}
    assert known.wallets("one", [PLACE]) == {}


def test_the_longest_unused_is_dropped_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MOST_REMEMBERED", 2)
    known = TonMemory()
    known.keep("one", {"a": None, "b": None})
    known.recall("one", [listed("a")])
    known.keep("one", {"c": None})
    assert known.recall("one", map(listed, "abc")).keys() == {"a", "c"}
