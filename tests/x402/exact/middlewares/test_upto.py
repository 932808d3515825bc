"""Published middlewares and clients with maximums (scheme `upto`): a part is charged, once, and nothing above what was signed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from localnet.anvil import Anvil, FundedAccount
from localnet.funding import payer
from localnet.permit2 import PERMIT2, UPTO_PROXY, allow, lay_permit2, permit
from localnet.tokens import balance_of, execute, mint, read
from settlements.models import GasTransaction
from tests.contract.client import ApiClient
from tests.x402.exact.middlewares.shops import Stand, standing
from tests.x402.exact.middlewares.test_served_once import COPIES, base_shop
from tests.x402.exact.published import bought_by_npm, bought_by_pypi
from tests.x402.exact.sellers import PRICE_UNITS, SECRET
from tests.x402.exact.shop import connect_base, open_shop
from tests.x402.payers import pay_to_of
from x402.models import Authorization, X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# The first version has no such scheme.
MIDDLEWARES = ("fastapi", "flask", "@x402/express")
CHARGED = 3_500
Buy = Callable[..., Any]
CLIENTS: Mapping[str, Buy] = {
    "pypi": bought_by_pypi,
    "@x402/fetch": lambda url, key, **more: bought_by_npm(url, key, "@x402/fetch", **more),
}


@pytest.fixture
def usdc(base_node: Anvil, settings: Any) -> str:
    """USDC, Permit2 and the proxies on Base; the usual payer has allowed Permit2 all of its USDC."""
    address = connect_base(settings, base_node)
    lay_permit2(base_node)
    allow(base_node, address)
    return address


@pytest.fixture
def seller(usdc: str) -> ApiClient:
    return open_shop()


@pytest.fixture
def newcomer(base_node: Anvil, usdc: str) -> FundedAccount:
    """A payer that has tokens, and never allowed Permit2 any."""
    account = base_node.accounts[6]
    mint(base_node, usdc, account.address, 10 * PRICE_UNITS)
    execute(base_node, account, usdc, "approve(address,uint256)", PERMIT2, 0)
    return account


def signed(node: Anvil, usdc: str, stand: Stand) -> Mapping[str, str]:
    """The header of the usual payer, who takes the offer."""

    def sign(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        assert wanted["scheme"] == "upto"
        named = {"facilitator": wanted["extra"]["facilitatorAddress"], "spender": UPTO_PROXY}
        return permit(node, usdc, wanted["payTo"], int(wanted["amount"]), **named).payload()

    return stand.signed(sign)


@pytest.mark.parametrize("middleware", MIDDLEWARES)
@pytest.mark.parametrize("waves", [[COPIES], [1, 1]], ids=["at once", "in turn"])
def test_copies_of_one_maximum_are_served_and_charged_once(
    base_node: Anvil, seller: ApiClient, usdc: str, live_server: LiveServer, middleware: str, waves: Sequence[int]
) -> None:
    with standing(middleware, base_shop(seller, usdc, live_server), charged=str(CHARGED)) as stand:
        headers = signed(base_node, usdc, stand)
        statuses = stand.buy_in_waves(headers, waves)
        assert sorted(statuses) == [200] + [402] * (sum(waves) - 1)
        assert stand.buy(headers) == 402
    payment, row = X402Payment.objects.get(), Authorization.objects.get()
    assert (payment.protocol, payment.units) == ("upto", CHARGED)
    assert (row.payment, row.most_units) == (payment, PRICE_UNITS)
    assert balance_of(base_node, usdc, pay_to_of(seller)) == CHARGED


@pytest.mark.parametrize("middleware", MIDDLEWARES)
def test_where_nothing_was_used_the_page_is_served_once_for_nothing(
    base_node: Anvil, seller: ApiClient, usdc: str, live_server: LiveServer, middleware: str
) -> None:
    with standing(middleware, base_shop(seller, usdc, live_server), charged="0") as stand:
        stand.release()
        headers = signed(base_node, usdc, stand)
        assert [stand.buy(headers) for _ in range(2)] == [200, 402]
    assert not X402Payment.objects.exists()
    assert not GasTransaction.objects.exists()
    assert balance_of(base_node, usdc, pay_to_of(seller)) == 0


@pytest.mark.parametrize("middleware", MIDDLEWARES)
def test_a_handler_that_charges_more_than_was_signed_gets_nothing_and_serves_nothing(
    base_node: Anvil, seller: ApiClient, usdc: str, live_server: LiveServer, middleware: str
) -> None:
    with standing(middleware, base_shop(seller, usdc, live_server), charged=str(PRICE_UNITS + 1)) as stand:
        stand.release()
        assert stand.buy(signed(base_node, usdc, stand)) == 402
    assert not Authorization.objects.exists()
    assert balance_of(base_node, usdc, pay_to_of(seller)) == 0


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("middleware", MIDDLEWARES)
def test_published_clients_pay_a_part_through_published_middlewares(
    base_node: Anvil, seller: ApiClient, usdc: str, live_server: LiveServer, middleware: str, client: str
) -> None:
    with standing(middleware, base_shop(seller, usdc, live_server), charged=str(CHARGED)) as stand:
        stand.release()
        assert CLIENTS[client](stand.url, payer(base_node).key, scheme="upto") == SECRET
    assert X402Payment.objects.get().units == CHARGED
    assert balance_of(base_node, usdc, pay_to_of(seller)) == CHARGED


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("middleware", ["fastapi", "@x402/express"])
def test_published_clients_without_coins_bring_the_tokens_own_permit(
    base_node: Anvil,
    seller: ApiClient,
    usdc: str,
    live_server: LiveServer,
    newcomer: FundedAccount,
    middleware: str,
    client: str,
) -> None:
    with standing(middleware, base_shop(seller, usdc, live_server), charged=str(CHARGED), sponsored=True) as stand:
        stand.release()
        assert CLIENTS[client](stand.url, newcomer.key, scheme="upto", evm_node=base_node.url) == SECRET
    assert balance_of(base_node, usdc, pay_to_of(seller)) == CHARGED
    left = read(base_node, usdc, "allowance(address,address)", newcomer.address, PERMIT2)
    assert int(left, 16) == PRICE_UNITS - CHARGED
