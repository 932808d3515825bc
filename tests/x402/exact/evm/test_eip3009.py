"""Authorisations of EIP-3009 are judged as the published library does."""

from collections.abc import Callable
from typing import Any

import pytest

from demo.localnet.authorizations import DOMAIN
from tests.contract.client import ApiClient
from tests.x402.exact import cases
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import verify
from tests.x402.exact.cases import Case
from tests.x402.exact.library import Library, check_same
from x402.exact.evm import calls, contracts

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("make", cases.AUTHORISATIONS)
def test_an_authorisation_is_judged_as_the_library_does(
    library: Library, exact_seller: ApiClient, exact_case: Case, make: Callable[[Case], Any], version: int
) -> None:
    body = body_of(make(exact_case), exact_case.usdc, version=version)
    reason = check_same(library, exact_seller, exact_case, body)
    fine = (cases.plain, cases.counted_from_zero, cases.by_a_contract, cases.made_already, cases.wrapped_in_nothing)
    assert (reason == "") is (make in fine)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("extra", [{}, {"name": "USD Coin"}, DOMAIN | {"name": "USDC"}, DOMAIN | {"version": "1"}])
@pytest.mark.parametrize("make", [cases.plain, cases.by_a_contract_of_another])
def test_another_domain_is_told_by_its_reason(
    library: Library,
    exact_seller: ApiClient,
    exact_case: Case,
    make: Callable[[Case], Any],
    extra: dict[str, str],
    version: int,
) -> None:
    """A wallet that is a contract is asked by the token, so that the token's own name and version are looked at."""
    body = body_of(make(exact_case), exact_case.usdc, version=version, extra=extra)
    assert check_same(library, exact_seller, exact_case, body)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("has_multicall", [True, False])
@pytest.mark.parametrize("code", ["0x60006000fd", "0x00"])
def test_a_token_that_knows_no_authorisations_is_found_out(
    library: Library, exact_seller: ApiClient, exact_case: Case, code: str, version: int, has_multicall: bool
) -> None:
    """A contract that stops at once takes everything, so that only what it moved tells."""
    told = cases.plain(exact_case)
    exact_case.node.rpc("anvil_setCode", exact_case.usdc, code)
    if not has_multicall:
        exact_case.node.rpc("anvil_setCode", contracts.MULTICALL, "0x")
    body = body_of(told, exact_case.usdc, version=version)
    reason = check_same(library, exact_seller, exact_case, body)
    assert (reason == "") is (code == "0x00")


def test_a_token_that_is_not_there_is_found_out(
    library: Library, exact_seller: ApiClient, exact_case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the first version too, where the library does not look."""
    monkeypatch.setattr(calls, "_deployed", set())
    told = cases.plain(exact_case)
    exact_case.node.rpc("anvil_setCode", exact_case.usdc, "0x")
    reason = check_same(library, exact_seller, exact_case, body_of(told, exact_case.usdc))
    assert reason == "asset_not_deployed_contract"
    first = body_of(told, exact_case.usdc, version=1)
    assert verify(exact_seller, first)["invalidReason"] == reason
