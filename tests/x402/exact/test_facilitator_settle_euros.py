"""Signed payments in EURC: verified under the token's own name, settled, and sent on to the merchant's wallet."""

import secrets
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import FeeEntry
from accounts.states import Mode
from gateway.core.currencies import usd_units_at
from gateway.core.money import from_units
from localnet.anvil import Anvil
from localnet.authorizations import DOMAIN, EURO_DOMAIN, Authorization, authorize, euro_domain, lay_eurc
from localnet.tokens import balance_of
from settlements.gas.node import gas_node
from settlements.models import Settlement
from settlements.sweeps.requests import settle_now
from settlements.sweeps.service import resume
from tests.contract.client import ApiClient, client_of
from tests.factories import WALLET
from tests.rates.playing import price_in, store_rates
from tests.wallets.factories import read_all
from tests.x402.euros import lay_euros
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.payers import pay_to_of
from wallets.chains.registry import open_pool
from wallets.networks import chain_spec
from wallets.watchers.blocks import Watcher
from x402.models import Authorization as AuthorizationRow
from x402.models import X402Payment
from x402.payments.transfers import follow_transfers

pytestmark = pytest.mark.django_db
UNITS = 25_000_001
RATE = "1.0883"


@pytest.fixture
def eurc(base_node: Anvil, exact_seller: ApiClient, settings: Any) -> str:
    """EURC's address beside USDC's; the operator takes it."""
    del exact_seller
    return lay_euros(settings, base_node)


def signed(node: Anvil, seller: ApiClient, **changes: Any) -> Authorization:
    return authorize(node, pay_to_of(seller), UNITS, domain=euro_domain(node), **changes)


def test_supported_names_networks_and_no_tokens(exact_seller: ApiClient, settings: Any, base_node: Anvil) -> None:
    before = exact_seller.get("/x402/supported").body
    lay_euros(settings, base_node)
    assert exact_seller.get("/x402/supported").body == before
    assert {"x402Version": 2, "scheme": "exact", "network": "eip155:8453"} in before["kinds"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_signed_payment_in_euros_settles_and_has_its_fee_in_dollars(
    base_node: Anvil, exact_seller: ApiClient, eurc: str, settings: Any, version: int
) -> None:
    price_in(settings, "EUR")
    store_rates({"EUR": RATE})
    told = signed(base_node, exact_seller)
    body = body_of(told, eurc, version=version, extra=EURO_DOMAIN)
    assert verify(exact_seller, body) == {"isValid": True, "payer": told.payer}
    answer = settle(exact_seller, body)
    assert answer["success"] is True, answer
    assert balance_of(base_node, eurc, told.to) == UNITS
    payment = X402Payment.objects.get()
    assert (payment.token, int(payment.units), payment.protocol) == ("EURC", UNITS, "exact")
    fee = FeeEntry.objects.get(subject_id=payment.public_id)
    assert (fee.token, fee.received) == ("EURC", from_units(usd_units_at(UNITS, Decimal(RATE))))
    assert settle(exact_seller, body)["success"] is False
    assert FeeEntry.objects.count() == 1


def test_without_a_rate_it_settles_and_has_no_fee(base_node: Anvil, exact_seller: ApiClient, eurc: str) -> None:
    answer = settle(exact_seller, body_of(signed(base_node, exact_seller), eurc, extra=EURO_DOMAIN))
    assert answer["success"] is True, answer
    assert X402Payment.objects.get().token == "EURC"
    assert not FeeEntry.objects.exists()


@pytest.mark.parametrize(("domain", "extra"), [(DOMAIN, DOMAIN), (DOMAIN, EURO_DOMAIN), (EURO_DOMAIN, DOMAIN)])
def test_a_signature_under_dollars_name_moves_no_euros(
    base_node: Anvil, exact_seller: ApiClient, eurc: str, domain: dict[str, str], extra: dict[str, str]
) -> None:
    named = domain | {"verifyingContract": eurc}
    told = authorize(base_node, pay_to_of(exact_seller), UNITS, domain=named)
    body = body_of(told, eurc, extra=extra)
    assert verify(exact_seller, body)["isValid"] is False
    assert settle(exact_seller, body)["success"] is False
    assert balance_of(base_node, eurc, told.to) == 0


def test_where_nobody_takes_them_the_requirements_are_invalid(base_node: Anvil, exact_seller: ApiClient) -> None:
    eurc = lay_eurc(base_node)
    body = body_of(signed(base_node, exact_seller), eurc, extra=EURO_DOMAIN)
    assert verify(exact_seller, body)["invalidReason"] == "invalid_payment_requirements"
    assert settle(exact_seller, body)["errorReason"] == "invalid_payment_requirements"
    assert not AuthorizationRow.objects.exists()


def test_an_authorisation_for_dollars_pays_no_euros(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, eurc: str
) -> None:
    told = authorize(base_node, pay_to_of(exact_seller), UNITS)
    assert verify(exact_seller, body_of(told, eurc, extra=EURO_DOMAIN))["isValid"] is False
    assert settle(exact_seller, body_of(told, usdc))["success"] is True
    assert (balance_of(base_node, eurc, told.to), balance_of(base_node, usdc, told.to)) == (0, UNITS)


def test_what_was_paid_in_euros_is_sent_on_to_the_merchants_wallet(
    base_node: Anvil, exact_seller: ApiClient, usdc: str, eurc: str, settings: Any
) -> None:
    settings.GAS_COIN_USD = {"base": "10"}
    assert settle(exact_seller, body_of(signed(base_node, exact_seller), eurc, extra=EURO_DOMAIN))["success"] is True
    other = authorize(base_node, pay_to_of(exact_seller), UNITS)
    assert settle(exact_seller, body_of(other, usdc))["success"] is True
    base_node.mine(chain_spec("base").confirmations)
    read()
    follow_transfers(now=timezone.now())
    assert exact_seller.merchant is not None
    before = balance_of(base_node, eurc, WALLET)
    [settlement] = settle_now(exact_seller.merchant.pk, Mode.LIVE, token="EURC", now=timezone.now())
    assert (settlement.token, int(settlement.units)) == ("EURC", UNITS)
    with gas_node("base") as node:
        resume("base", node=node, now=timezone.now())
    assert balance_of(base_node, eurc, WALLET) == before + UNITS
    assert balance_of(base_node, usdc, other.to) == UNITS
    assert Settlement.objects.count() == 1


def read() -> None:
    """Let a watcher read what is on the chain, with the chain's own settings."""
    spec = chain_spec("base")
    pool = open_pool(spec)
    adapter: Any = spec.family.open_adapter(spec, pool)
    watcher = Watcher(spec, adapter, rpc=pool, owner="one")
    read_all(watcher)
    watcher.close()


def test_in_test_mode_one_nonce_pays_once_in_each_token(base_node: Anvil, usdc: str, eurc: str) -> None:
    tester = client_of(mode=Mode.TEST)
    # Some nonces are meant to fail in test mode.
    nonce = "0x00" + secrets.token_hex(31)
    dollars = authorize(base_node, pay_to_of(tester), UNITS, nonce=nonce)
    euros = signed(base_node, tester, nonce=nonce)
    answers = [settle(tester, body_of(dollars, usdc))]
    answers.append(settle(tester, body_of(euros, eurc, extra=EURO_DOMAIN)))
    assert [answer["success"] for answer in answers] == [True, True], answers
    assert len({answer["transaction"] for answer in answers}) == 2
    paid = X402Payment.objects.filter(mode=Mode.TEST).order_by("pk")
    assert list(paid.values_list("token", "units")) == [("USDC", UNITS), ("EURC", UNITS)]
