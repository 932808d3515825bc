"""Our judgement of payments on EVM chains against that of the public standard's own library: same bodies, same chain, same reasons."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from demo.localnet.anvil import Anvil
from demo.localnet.authorizations import DOMAIN
from demo.localnet.permit2 import (
    lay_multicall,
    lay_permit2,
)
from tests.contract.client import ApiClient
from tests.x402.exact import cases
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import verify
from tests.x402.exact.cases import Case
from tests.x402.exact.environment import foreign_python
from tests.x402.exact.permits import permit_body
from tests.x402.payers import pay_to_of
from x402.exact.evm import (
    calls,
    contracts,
)

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

PROGRAM: Final = Path(__file__).parent / "foreign" / "judge.py"


class Library:
    """The library in a process of its own."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.contracts = json.loads(self._read())

    def reason(self, body: dict[str, Any], node: str) -> str:
        """Why it would not take a payment; "" where it would."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"body": body, "node": node}) + "\n")
        self._process.stdin.flush()
        return self._read().strip()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the library's process ended"
        return line


@pytest.fixture(scope="module")
def library() -> Iterator[Library]:
    """It takes seconds to start."""
    with subprocess.Popen(
        [foreign_python(), str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Library(process)
        process.communicate(timeout=60)


@pytest.fixture
def case(base_node: Anvil, seller: ApiClient, usdc: str) -> Case:
    """With everything in its place that the library asks."""
    lay_multicall(base_node)
    lay_permit2(base_node)
    return Case(base_node, usdc, pay_to_of(seller))


def check_same(library: Library, client: ApiClient, case: Case, body: Any) -> str:
    """Check that both judge alike; return how."""
    theirs = library.reason(body, case.node.url)
    ours = verify(client, body)
    assert ours.get("invalidReason", "") == theirs, ours
    assert ours["isValid"] is (theirs == "")
    return theirs


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("make", cases.AUTHORISATIONS)
def test_an_authorisation_is_judged_as_the_library_does(
    library: Library,
    seller: ApiClient,
    case: Case,
    make: Callable[[Case], Any],
    version: int,
) -> None:
    body = body_of(make(case), case.usdc, version=version)
    reason = check_same(library, seller, case, body)
    fine = (
        cases.plain,
        cases.counted_from_zero,
        cases.by_a_contract,
        cases.made_already,
        cases.wrapped_in_nothing,
    )
    assert (reason == "") is (make in fine)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "extra",
    [{}, {"name": "USD Coin"}, DOMAIN | {"name": "USDC"}, DOMAIN | {"version": "1"}],
)
@pytest.mark.parametrize("make", [cases.plain, cases.by_a_contract_of_another])
def test_another_domain_is_told_by_its_reason(
    library: Library,
    seller: ApiClient,
    case: Case,
    make: Callable[[Case], Any],
    extra: dict[str, str],
    version: int,
) -> None:
    """A wallet that is a contract is asked by the token, so that the token's own name and version are looked at."""
    body = body_of(make(case), case.usdc, version=version, extra=extra)
    assert check_same(library, seller, case, body)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("has_multicall", [True, False])
@pytest.mark.parametrize("code", ["0x60006000fd", "0x00"])
def test_a_token_that_knows_no_authorisations_is_found_out(
    library: Library,
    seller: ApiClient,
    case: Case,
    code: str,
    version: int,
    has_multicall: bool,
) -> None:
    """A contract that stops at once takes everything, so that only what it moved tells."""
    told = cases.plain(case)
    case.node.rpc("anvil_setCode", case.usdc, code)
    if not has_multicall:
        case.node.rpc("anvil_setCode", contracts.MULTICALL, "0x")
    body = body_of(told, case.usdc, version=version)
    reason = check_same(library, seller, case, body)
    assert (reason == "") is (code == "0x00")


def test_a_token_that_is_not_there_is_found_out(
    library: Library,
    seller: ApiClient,
    case: Case,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the first version too, where the library does not look."""
    monkeypatch.setattr(calls, "_deployed", set())
    told = cases.plain(case)
    case.node.rpc("anvil_setCode", case.usdc, "0x")
    reason = check_same(library, seller, case, body_of(told, case.usdc))
    assert reason == "asset_not_deployed_contract"
    first = body_of(told, case.usdc, version=1)
    assert verify(seller, first)["invalidReason"] == reason


@pytest.mark.parametrize("make", cases.PERMITS)
def test_a_permit_is_judged_as_the_library_does(
    library: Library, seller: ApiClient, case: Case, make: Callable[[Case], Any]
) -> None:
    body = permit_body(make(case), case.node.chain_id)
    assert (check_same(library, seller, case, body) == "") is (make is cases.permitted)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (cases.take_back, "permit2_invalid_nonce"),
        (cases.take_proxy_away, "invalid_exact_evm_transaction_simulation_failed"),
    ],
)
def test_a_permit_that_would_fail_is_refused_though_the_library_takes_it(
    library: Library,
    seller: ApiClient,
    case: Case,
    spoil: Callable[[Case, Any], None],
    reason: str,
) -> None:
    told = cases.permitted(case)
    body = permit_body(told, case.node.chain_id)
    spoil(case, told)
    assert library.reason(body, case.node.url) == ""
    assert verify(seller, body)["invalidReason"] == reason


@pytest.mark.parametrize("version", [1, 2])
def test_a_signature_that_was_turned_over_is_refused_without_asking_the_token(
    library: Library, seller: ApiClient, case: Case, version: int
) -> None:
    """The library leaves that to the token, which refuses it as the real USDC does."""
    body = body_of(cases.turned_over(case), case.usdc, version=version)
    assert library.reason(body, case.node.url) != ""
    reason = "invalid_exact_evm_payload_signature"
    assert verify(seller, body)["invalidReason"] == reason


def test_the_contracts_are_those_of_the_standard(library: Library) -> None:
    assert library.contracts == {
        "permit2": contracts.PERMIT2,
        "proxy": contracts.PROXY,
        "multicall": contracts.MULTICALL,
    }
