"""No order of events leaves a machine's payer charged and unserved, or a shop serving unpaid or twice."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from florin_x402.admissions import Tickets
from florin_x402.claims import MemoryClaims
from florin_x402.identifiers import Identifiers
from localnet.anvil import Anvil
from localnet.permit2 import allow, lay_permit2
from settlements.gas.node import GasNode
from tests.contract.client import ApiClient
from tests.exhaustive import EXHAUSTIVE
from tests.simulation.machines import World, market_in
from tests.x402.payers import pay_to_of
from x402.exact import facilitator, waiting
from x402.exact.authorizations import Success, claim_success

pytestmark = [pytest.mark.django_db, pytest.mark.slow, pytest.mark.unmeasured]

EXPLORE = settings(
    max_examples=100 if EXHAUSTIVE else 15,
    stateful_step_count=20,
    deadline=None,
    database=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
# A control must find its fault each time, and the smallest example of it is of no interest.
CONTROL = settings(EXPLORE, max_examples=200, derandomize=True, report_multiple_bugs=False)


@pytest.fixture
def world(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, no_bells: None, monkeypatch: pytest.MonkeyPatch
) -> World:
    """Base with USDC and Permit2, whose payers allowed it, and a seller; a facilitator that waits no time for a block."""
    del no_bells
    lay_permit2(base_node)
    for account in base_node.accounts[1:3]:
        allow(base_node, usdc, account=account)
    found = World(base_node, exact_seller, usdc, pay_to_of(exact_seller))
    monkeypatch.setattr(waiting, "RECEIPT_SECONDS", 0.05)
    monkeypatch.setattr(GasNode, "send_first", found.mortal(GasNode.send_first))
    # Limits of a minute refuse before anything is charged, and would only end the examples early.
    monkeypatch.setattr(facilitator, "may_ask", lambda *_, **__: True)
    return found


def test_nobody_is_charged_and_unserved_and_nothing_is_sold_unpaid_or_twice(world: World) -> None:
    run_state_machine_as_test(market_in(world), settings=EXPLORE)


def _forget_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shop asks again under a new key for what it settled already."""
    monkeypatch.setattr(Tickets, "keep", lambda *_: None)


def _sell_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the facilitator nor the shop remembers that a payment was served."""

    def claim(caller: Any, request: Any, **told: Any) -> Any:
        return claim_success(caller, request, **told) or Success(told["now"], "")

    monkeypatch.setattr(facilitator, "claim_success", claim)
    monkeypatch.setattr(facilitator, "is_unanswered", lambda _: True)
    monkeypatch.setattr(MemoryClaims, "add", _always(MemoryClaims.add))


def _always(real: Callable[..., bool]) -> Callable[..., bool]:
    def add(store: Any, name: str, value: str, *, seconds: int) -> bool:
        real(store, name, value, seconds=seconds)
        return True

    return add


def _keep_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A payer that lost its answer gets none under its id."""
    monkeypatch.setattr(Identifiers, "answer_to", lambda *_: None)


def _believe_a_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shop serves what was verified, and asks nobody to settle it."""
    from florin_x402.bysignature import SignatureDesk

    monkeypatch.setattr(SignatureDesk, "settle", lambda _, admission, __: admission)


@pytest.mark.parametrize(
    ("fault", "found"),
    [
        (_forget_keys, "charged and not served"),
        (_sell_each_time, "sold twice"),
        (_keep_no_answer, "charged and not served"),
        (_believe_a_verification, "served unpaid"),
    ],
)
def test_the_market_finds_a_planted_fault(
    world: World, monkeypatch: pytest.MonkeyPatch, fault: Callable[[pytest.MonkeyPatch], None], found: str
) -> None:
    fault(monkeypatch)
    with pytest.raises(AssertionError, match=found):
        run_state_machine_as_test(market_in(world), settings=CONTROL)
