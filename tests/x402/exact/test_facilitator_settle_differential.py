"""Our settlements on EVM chains against those of the public standard's own library: same bodies, same chain, same answers.

Each settles what a payer signed, twice, from the same state of the chain. Where the answers differ, what the library says is recorded here.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from localnet.tokens import balance_of
from settlements.models import GasTransaction
from tests.contract.client import ApiClient
from tests.x402.exact import cases
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle
from tests.x402.exact.cases import UNITS, Case
from tests.x402.exact.library import Library
from tests.x402.exact.permits import permit_body, upto_body

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
USED = "invalid_exact_evm_nonce_already_used"
USED_PERMIT = "permit2_invalid_nonce"
SIMULATION = "invalid_exact_evm_transaction_simulation_failed"


class Told(NamedTuple):
    """What the answers to a settlement have in common. `amount` is that of scheme `upto`: only ours name it in `exact`."""

    success: bool
    reason: str
    network: str
    payer: str
    is_sent: bool
    amount: str


class Settled(NamedTuple):
    """The answers to some bodies, one after another, and what the seller had then."""

    answers: Sequence[Told]
    received: int


def told_of(answer: dict[str, Any], body: dict[str, Any]) -> Told:
    """Read an answer. A refusal of ours names the transaction that used the signature up; theirs does not."""
    is_upto = body["paymentRequirements"].get("scheme") == "upto"
    return Told(
        success=answer["success"],
        reason=answer.get("errorReason", ""),
        network=answer["network"],
        payer=answer.get("payer", ""),
        is_sent=answer["success"] and bool(answer["transaction"]),
        amount=answer.get("amount", "") if is_upto else "",
    )


def both(library: Library, client: ApiClient, case: Case, bodies: Sequence[dict[str, Any]]) -> tuple[Settled, Settled]:
    """Let the library settle bodies and, from the same state of the chain, ourselves; return theirs and ours."""
    node, key = case.node, case.node.accounts[3].key

    def settled(by: Callable[[dict[str, Any]], dict[str, Any]]) -> Settled:
        answers = [told_of(by(body), body) for body in bodies]
        return Settled(answers, balance_of(node, case.usdc, case.to))

    with node.rolled_back():
        theirs = settled(lambda body: library.settle(body, node.url, key=key))
    return theirs, settled(lambda body: settle(client, body))


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("make", cases.AUTHORISATIONS)
def test_an_authorisation_is_settled_as_by_the_library_and_once(
    library: Library, exact_seller: ApiClient, exact_case: Case, make: Callable[[Case], Any], version: int
) -> None:
    body = body_of(make(exact_case), exact_case.usdc, version=version)
    theirs, ours = both(library, exact_seller, exact_case, [body, body])
    first, second = ours.answers
    if version == 1 and make is cases.by_a_contract_of_another:
        # In the first version a failed simulation is all that the library learns of a contract's answer.
        assert theirs.answers == [one._replace(reason=SIMULATION) for one in ours.answers]
        assert first.reason == "invalid_exact_evm_payload_signature"
    else:
        assert ours == theirs
    if first.success:
        assert (second.reason, ours.received) == (USED, UNITS)
    else:
        assert (second, ours.received, GasTransaction.objects.count()) == (first, 0, 0)


@pytest.mark.parametrize("make", cases.PERMITS)
def test_a_permit_is_settled_as_by_the_library_and_once(
    library: Library, exact_seller: ApiClient, exact_case: Case, make: Callable[[Case], Any]
) -> None:
    body = permit_body(make(exact_case), exact_case.node.chain_id)
    theirs, ours = both(library, exact_seller, exact_case, [body, body])
    assert (ours.answers[0], ours.received) == (theirs.answers[0], theirs.received)
    second, of_theirs = ours.answers[1], theirs.answers[1]
    if ours.answers[0].success:
        # The library does not look at the permit's number: it sends what reverts, at its own cost.
        assert of_theirs == second._replace(reason="transaction_failed")
        assert (second.reason, GasTransaction.objects.count()) == (USED_PERMIT, 1)
    else:
        assert second == of_theirs == ours.answers[0]


@pytest.mark.parametrize("make", cases.MAXIMUMS)
def test_a_part_of_a_maximum_is_settled_as_by_the_library(
    library: Library, exact_seller: ApiClient, exact_case: Case, make: Callable[[Case], Any]
) -> None:
    part = UNITS // 3
    body = upto_body(make(exact_case), exact_case.node.chain_id, part)
    theirs, ours = both(library, exact_seller, exact_case, [body])
    if make is cases.maximum_too_much:
        # The library wants the whole maximum to be there, we what is charged.
        assert (theirs.answers[0].reason, theirs.received) == ("permit2_insufficient_balance", 0)
        assert (ours.answers[0].success, ours.received) == (True, part)
        return
    assert ours == theirs
    assert ours.received == (part if make is cases.maximum else 0)


@pytest.mark.parametrize("units", [0, 1, UNITS - 1, UNITS, UNITS + 1])
def test_what_a_seller_asks_of_a_maximum_is_settled_as_by_the_library(
    library: Library, exact_seller: ApiClient, exact_case: Case, units: int
) -> None:
    """Also nothing, and more than was signed."""
    body = upto_body(cases.maximum(exact_case), exact_case.node.chain_id, units)
    theirs, ours = both(library, exact_seller, exact_case, [body])
    assert ours == theirs
    [told] = ours.answers
    assert told.success is (units <= UNITS)
    assert (told.is_sent, ours.received) == ((True, units) if 0 < units <= UNITS else (False, 0))


@pytest.mark.parametrize("again", [0, UNITS // 3, UNITS])
def test_a_maximum_that_was_charged_is_not_charged_again_by_either(
    library: Library, exact_seller: ApiClient, exact_case: Case, again: int
) -> None:
    told = cases.maximum(exact_case)
    bodies = [upto_body(told, exact_case.node.chain_id, units) for units in (UNITS // 3, again)]
    theirs, ours = both(library, exact_seller, exact_case, bodies)
    assert (ours.answers[0], ours.received) == (theirs.answers[0], theirs.received)
    second = ours.answers[1]
    assert second.reason == USED_PERMIT
    # The library only sees that it would fail.
    assert theirs.answers[1] == second._replace(reason="invalid_upto_evm_transaction_failed")


def test_a_maximum_that_was_ended_with_nothing_is_charged_by_the_library_alone(
    library: Library, exact_seller: ApiClient, exact_case: Case
) -> None:
    """Nothing is on the chain then, and the library remembers nothing. Decision 34 says why we do."""
    told = cases.maximum(exact_case)
    bodies = [upto_body(told, exact_case.node.chain_id, units) for units in (0, UNITS)]
    theirs, ours = both(library, exact_seller, exact_case, bodies)
    assert ours.answers[0] == theirs.answers[0]
    assert (theirs.answers[1].success, theirs.received) == (True, UNITS)
    assert (ours.answers[1].reason, ours.received) == (USED_PERMIT, 0)
