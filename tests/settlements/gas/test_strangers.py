"""Which payers go on after other payers' payments failed, what nodes are asked for it, and what it costs at most."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Merchant
from settlements.errors import NoGasError
from settlements.gas import strangers
from settlements.gas.shares import OPEN_PART, FailedCosts
from settlements.gas.strangers import KNOWN_PART, STRANGERS_PART, Stranger, failed_payers, refuse_failed
from settlements.models import GasAccount, GasTransaction
from settlements.states import Outcome, Purpose, TransactionState
from tests.factories import NOON
from wallets.chains.base import ChainUnavailableError

SHARE = Decimal(10**12)
# More failed just now than a 300th.
LATELY = int(SHARE) // 100


@dataclass
class Past:
    """What is known of payers, and who funded them: an exception is a node's."""

    failed: Sequence[str] = ()
    known: Sequence[str] = ()
    known_cost: int = 0
    funders: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def failed_payers(self, *, since: datetime) -> Sequence[str]:
        return self.failed

    def has_paid(self, payer: str, *, before: datetime) -> bool:
        return payer in self.known

    def known_failed(self, *, since: datetime) -> int:
        return self.known_cost

    def funded_by(self, payer: str) -> str | None:
        self.asked.append(payer)
        found: str | None = self.funders.get(payer, "")
        if isinstance(found, Exception):
            raise found
        return found

    def refuse(self, payer: str, *, day: int = LATELY, open_now: int = 0) -> None:
        stranger = Stranger(1, "base", "token", payer, self.funded_by, self)
        refuse_failed(stranger, FailedCosts(day, LATELY, open_now, 1), SHARE, now=NOON)


@pytest.fixture(autouse=True)
def _no_funder_is_remembered() -> None:
    strangers._funders.clear()


def test_a_payer_that_failed_is_refused_without_a_question() -> None:
    past = Past(failed=["a", "b"], funders={"b": "funder"})
    with pytest.raises(NoGasError, match="related"):
        past.refuse("b")
    assert past.asked == []


def test_payers_of_one_funder_are_related_and_nobody_is_through_nobody() -> None:
    past = Past(failed=["a", "b"], funders={"b": "funder", "c": "funder", "d": "b"})
    for related in ("c", "d", "funder"):
        with pytest.raises(NoGasError, match="related"):
            past.refuse(related)
    past.refuse("e")
    # Each account is asked about once.
    assert sorted(past.asked) == sorted({*past.asked})


def test_a_payer_of_which_too_much_came_later_counts_as_related_and_a_failed_one_as_itself() -> None:
    past = Past(failed=["a"], funders={"a": None, "b": None})
    with pytest.raises(NoGasError, match="related"):
        past.refuse("b")
    past.refuse("c")


def test_nobody_is_let_through_while_nodes_do_not_say_who_funded_whom_or_take_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    past = Past(failed=["a"], funders={"a": ChainUnavailableError("silent")})
    with pytest.raises(NoGasError, match="in time"):
        past.refuse("b")
    past.funders = {}
    monkeypatch.setattr(strangers, "_SEARCH_SECONDS", -1.0)
    with pytest.raises(NoGasError, match="in time"):
        past.refuse("c")
    assert past.asked == ["b", "a"]
    monkeypatch.undo()
    past.refuse("c")


def test_strangers_cost_half_of_the_share_and_have_a_quarter_on_its_way_at_most() -> None:
    past, quarter = Past(failed=["a"]), int(SHARE) // OPEN_PART
    past.refuse("b", open_now=quarter)
    with pytest.raises(NoGasError, match="on their way"):
        past.refuse("b", open_now=quarter + 1)
    half = int(SHARE) // STRANGERS_PART
    past.refuse("b", day=half - 1, open_now=1)
    with pytest.raises(NoGasError, match="half"):
        past.refuse("b", day=half, open_now=1)


def test_known_payers_failures_and_what_is_on_its_way_cost_a_quarter_together() -> None:
    quarter = int(SHARE) // KNOWN_PART
    past = Past(known=["a"], known_cost=quarter // 2)
    past.refuse("a", day=int(SHARE), open_now=quarter // 2)
    with pytest.raises(NoGasError, match="known payers"):
        past.refuse("a", day=int(SHARE), open_now=quarter // 2 + 1)


@pytest.mark.django_db
def test_payers_that_we_emptied_did_not_fail(merchant: Merchant) -> None:
    account = GasAccount.objects.create(chain="base", address="0xGas", next_nonce=8)
    usual: dict[str, Any] = {
        "account": account,
        "merchant": merchant,
        "to": "0xToken",
        "data": b"",
        "gas_limit": 1,
        "most_wei": 1,
        "outcome": Outcome.FAILED,
        "state": TransactionState.MINED,
        "created_at": NOON,
    }
    rows: list[tuple[str, Purpose, dict[str, Any]]] = [
        ("failed", Purpose.RELAY, {}),
        ("emptied", Purpose.CANCEL, {}),
        ("", Purpose.SWEEP, {}),
    ]
    rows.append(("dropped", Purpose.RELAY, {"state": TransactionState.DROPPED}))
    for nonce, (payer, purpose, values) in enumerate(rows):
        other: dict[str, Any] = usual | {"payer": payer, "purpose": purpose, "reference": str(nonce), "nonce": nonce}
        GasTransaction.objects.create(**other | values)
    assert failed_payers(merchant.pk, "base", since=NOON.replace(hour=0)) == ["failed"]
