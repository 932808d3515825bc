"""Our judgement of payments on EVM chains against that of the public standard's own library: same bodies, same chain, same reasons."""

from collections.abc import Callable
from typing import Any

import pytest

from localnet.authorizations import DOMAIN
from tests.contract.client import ApiClient
from tests.x402.exact import cases
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import verify
from tests.x402.exact.cases import Case
from tests.x402.exact.library import Library, check_same
from tests.x402.exact.permits import permit_body, upto_body
from wallets.chains.evm.authorizations import contracts
from x402.exact.evm import permit2

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.mark.parametrize("make", cases.PERMITS)
def test_a_permit_is_judged_as_the_library_does(
    library: Library, exact_seller: ApiClient, exact_case: Case, make: Callable[[Case], Any]
) -> None:
    body = permit_body(make(exact_case), exact_case.node.chain_id)
    assert (check_same(library, exact_seller, exact_case, body) == "") is (make is cases.permitted)


@pytest.mark.parametrize("make", cases.MAXIMUMS)
def test_a_maximum_is_judged_as_the_library_does(
    library: Library, exact_seller: ApiClient, exact_case: Case, make: Callable[[Case], Any]
) -> None:
    body = upto_body(make(exact_case), exact_case.node.chain_id)
    assert (check_same(library, exact_seller, exact_case, body) == "") is (make is cases.maximum)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (cases.take_back, "permit2_invalid_nonce"),
        (cases.take_proxy_away, "invalid_exact_evm_transaction_simulation_failed"),
    ],
)
def test_a_permit_that_would_fail_is_refused_though_the_library_takes_it(
    library: Library, exact_seller: ApiClient, exact_case: Case, spoil: Callable[[Case, Any], None], reason: str
) -> None:
    told = cases.permitted(exact_case)
    body = permit_body(told, exact_case.node.chain_id)
    spoil(exact_case, told)
    assert library.reason(body, exact_case.node.url) == ""
    assert verify(exact_seller, body)["invalidReason"] == reason


@pytest.mark.parametrize("version", [1, 2])
def test_a_signature_that_was_turned_over_is_refused_without_asking_the_token(
    library: Library, exact_seller: ApiClient, exact_case: Case, version: int
) -> None:
    """The library leaves that to the token, which refuses it as the real USDC does."""
    body = body_of(cases.turned_over(exact_case), exact_case.usdc, version=version)
    assert library.reason(body, exact_case.node.url) != ""
    reason = "invalid_exact_evm_payload_signature"
    assert verify(exact_seller, body)["invalidReason"] == reason


def test_the_contracts_are_those_of_the_standard(library: Library) -> None:
    assert library.contracts == {
        "permit2": permit2.PERMIT2,
        "proxy": permit2.PROXY,
        "upto": permit2.UPTO_PROXY,
        "multicall": contracts.MULTICALL,
    }


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
    monkeypatch.setattr(contracts, "_deployed", set())
    told = cases.plain(exact_case)
    exact_case.node.rpc("anvil_setCode", exact_case.usdc, "0x")
    reason = check_same(library, exact_seller, exact_case, body_of(told, exact_case.usdc))
    assert reason == "asset_not_deployed_contract"
    first = body_of(told, exact_case.usdc, version=1)
    assert verify(exact_seller, first)["invalidReason"] == reason
