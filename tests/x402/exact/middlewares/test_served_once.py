"""Published middlewares serve one authorisation once, however many copies of it a payer sends, and when."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from localnet.anvil import Anvil
from localnet.authorizations import authorize
from localnet.solana.node import USDC
from localnet.tokens import balance_of
from tests.contract.client import ApiClient
from tests.factories import NOON
from tests.x402.exact.middlewares.shops import MIDDLEWARES, Stand, standing
from tests.x402.exact.sellers import PRICE_UNITS, Shop
from tests.x402.exact.solana.payers import Shop as SolanaShop
from tests.x402.payers import pay_to_of
from x402.exact import facilitator
from x402.exact.authorizations import Success
from x402.models import Authorization, X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
COPIES = 20
WAVES = {"at once": [COPIES], "in turn": [1, 1]}


def base_shop(seller: ApiClient, usdc: str, live_server: LiveServer) -> Shop:
    """What a shop on Base is told."""
    return Shop(
        facilitator=f"{live_server.url}/api/v1/x402", key=seller.key or "", pay_to=pay_to_of(seller), asset=usdc
    )


def check_once(stand: Stand, headers: Mapping[str, str], waves: Sequence[int]) -> None:
    """Check that waves of copies are served once."""
    statuses = stand.buy_in_waves(headers, waves)
    assert sorted(statuses) == [200] + [402] * (sum(waves) - 1)
    assert stand.buy(headers) == 402
    assert Authorization.objects.get().payment == X402Payment.objects.get()


@pytest.mark.parametrize("middleware", MIDDLEWARES)
@pytest.mark.parametrize("waves", WAVES.values(), ids=WAVES)
def test_copies_of_one_payment_on_base_are_served_once(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, live_server: LiveServer, middleware: str, waves: Sequence[int]
) -> None:
    shop = base_shop(exact_seller, usdc, live_server)

    def sign(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        return authorize(base_node, wanted["payTo"], PRICE_UNITS).payload()

    with standing(middleware, shop) as stand:
        check_once(stand, stand.signed(sign), waves)
    assert balance_of(base_node, usdc, shop.pay_to) == PRICE_UNITS


def test_without_the_claim_every_copy_would_be_served(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: middlewares serve whoever is told that it settled."""
    monkeypatch.setattr(facilitator, "claim_success", lambda *_, **__: Success(NOON, ""))
    shop = base_shop(exact_seller, usdc, live_server)

    def sign(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        return authorize(base_node, wanted["payTo"], PRICE_UNITS).payload()

    with standing("fastapi", shop) as stand:
        assert stand.buy_in_waves(stand.signed(sign), [1, 1]) == [200, 200]
    assert balance_of(base_node, usdc, shop.pay_to) == PRICE_UNITS


@pytest.mark.parametrize("middleware", MIDDLEWARES)
@pytest.mark.parametrize("waves", WAVES.values(), ids=WAVES)
def test_copies_of_one_payment_on_solana_are_served_once(
    solana_stall: SolanaShop, solana_seller: ApiClient, live_server: LiveServer, middleware: str, waves: Sequence[int]
) -> None:
    shop = Shop(
        facilitator=f"{live_server.url}/api/v1/x402",
        key=solana_seller.key or "",
        pay_to=solana_stall.wallet,
        asset=USDC,
        network="solana",
    )

    def sign(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
        fee_payer = wanted["extra"]["feePayer"]
        signed = solana_stall.draft(fee_payer=fee_payer).signed()
        return {"transaction": base64.b64encode(signed).decode()}

    # Its slots follow the clock, so that the payment's blockhash lives a minute as on the main network. Hurried by `ticking`,
    # it would be too old after three seconds.
    with standing(middleware, shop) as stand:
        check_once(stand, stand.signed(sign), waves)
    assert solana_stall.node.balance(solana_stall.wallet) == PRICE_UNITS + 1
