"""EURC by hash: taken where the operator says so, in units of the token, and never as if a euro were a dollar."""

from decimal import Decimal
from typing import Any

import pytest

from accounts.models import FeeEntry, Merchant
from accounts.states import Mode
from gateway.core.currencies import usd_units_at
from gateway.core.money import format_units, from_units
from localnet.anvil import Anvil
from localnet.authorizations import lay_eurc
from tests.contract.client import ApiClient
from tests.rates.playing import price_in, store_rates
from tests.wallets.factories import make_watcher, read_all
from tests.x402.calls import Claim, ask, verdict
from tests.x402.euros import lay_euros, paid_in_euros, take_euros
from tests.x402.payers import UNITS, claim_of, paid
from tests.x402.recorded import make_machine_transfer, make_seller, request_for, verify_it
from wallets.models import Transfer
from wallets.selectors import offerable_chains
from x402.models import X402Payment
from x402.payments.claims import Caller, use_recorded

pytestmark = pytest.mark.django_db
RATE = "1.088260001"


@pytest.fixture
def eurc(base: Anvil, settings: Any) -> str:
    """EURC's address; the operator takes it."""
    return lay_euros(settings, base)


@pytest.fixture
def rate(settings: Any) -> Decimal:
    """Dollars for a euro, as two sources say."""
    price_in(settings, "EUR")
    store_rates({"EUR": RATE})
    return Decimal(RATE)


def fee_of(payment: X402Payment) -> FeeEntry:
    return FeeEntry.objects.get(subject_id=payment.public_id)


def test_euros_are_listed_beside_the_tokens_of_one_dollar(base_seller: ApiClient, eurc: str) -> None:
    config = base_seller.get("/x402/config").body
    assert config["assets"] == {"base": ["USDC"]}
    named = {"name": "EURC", "version": "2"}
    told = {"token": "EURC", "currency": "EUR", "address": eurc, "decimals": 6, "extra": named}
    assert config["otherAssets"] == {"base": [told]}


def test_checkouts_do_not_offer_them(base_seller: ApiClient, eurc: str) -> None:
    del eurc
    assert base_seller.merchant is not None
    [base] = [one for one in base_seller.get("/chains").body["data"] if one["chain"] == "base"]
    assert (base["tokens"], list(base["tokenContracts"])) == (["USDC"], ["USDC"])
    offered = [one for mode in Mode for one in offerable_chains(base_seller.merchant.pk, mode) if one.name == "base"]
    assert offered
    assert all(one.tokens == ["USDC"] for one in offered)


def test_a_payment_in_euros_pays_once_for_what_costs_euros(base: Anvil, base_seller: ApiClient, eurc: str) -> None:
    claim = paid_in_euros(base, base_seller, eurc)
    assert verdict(base_seller, claim, token="USDC", asset="USDC") == "wrong_token"
    assert verdict(base_seller, claim, asset="USDC") == "requirements_mismatch"
    assert verdict(base_seller, claim, price="0.500001") == "insufficient_amount"
    assert verdict(base_seller, claim) == "valid"
    assert verdict(base_seller, claim) == "already_used"
    listed = base_seller.get("/x402/payments", {"token": "EURC"}).body["data"]
    assert [(one["token"], one["amount"]) for one in listed] == [("EURC", "0.500000")]


def test_where_nobody_takes_them_they_are_the_wrong_token(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid_in_euros(base, base_seller, lay_eurc(base))
    assert verdict(base_seller, claim) == "wrong_token"
    assert "otherAssets" not in base_seller.get("/x402/config").body
    assert base_seller.get("/x402/payments", {"token": "EURC"}).status == 400
    assert not X402Payment.objects.exists()


def test_a_test_key_follows_the_setting_too(tester: ApiClient, settings: Any) -> None:
    to = tester.get("/x402/config").body["payTo"]["base"]
    claim = Claim("base", "EURC", "0x" + "5a" * 32, to, to)
    assert verdict(tester, claim) == "wrong_token"
    take_euros(settings)
    assert verdict(tester, claim) == "valid"
    assert not FeeEntry.objects.exists()


@pytest.mark.parametrize("units", [UNITS, 1, 123_457])
def test_its_fee_is_of_its_worth_in_dollars(
    base: Anvil, base_seller: ApiClient, eurc: str, rate: Decimal, units: int
) -> None:
    amount = format_units(units)
    claim = paid_in_euros(base, base_seller, eurc, units, amount=amount, price=amount)
    assert verdict(base_seller, claim) == "valid"
    fee = fee_of(X402Payment.objects.get())
    assert fee.received == from_units(usd_units_at(units, rate))
    assert fee.token == "EURC"


def test_without_a_rate_it_pays_and_has_no_fee(base: Anvil, base_seller: ApiClient, eurc: str, settings: Any) -> None:
    claims = [paid_in_euros(base, base_seller, eurc) for _ in range(2)]
    assert verdict(base_seller, claims[0]) == "valid"
    price_in(settings, "EUR")
    store_rates({"EUR": "1.08"}, source="kraken")
    store_rates({"EUR": "1.20"}, source="coinbase")
    assert verdict(base_seller, claims[1]) == "valid"
    assert not FeeEntry.objects.exists()


def test_dollars_and_euros_are_each_what_they_are(
    base: Anvil, base_seller: ApiClient, eurc: str, rate: Decimal
) -> None:
    """The same number of both, of which the one statement and the closer look each use one of each."""
    claims = [paid(base, base_seller), paid_in_euros(base, base_seller, eurc)]
    read_all(make_watcher(base.url, TOKENS="USDC,EURC"))
    assert set(Transfer.objects.values_list("token", flat=True)) == {"USDC", "EURC"}
    claims += [paid(base, base_seller), paid_in_euros(base, base_seller, eurc)]
    for claim in claims:
        assert verdict(base_seller, claim) == "valid"
    fees = {(fee_of(one).token, fee_of(one).received) for one in X402Payment.objects.all()}
    worth = from_units(usd_units_at(UNITS, rate))
    assert fees == {("USDC", Decimal("0.5")), ("EURC", worth)}
    assert FeeEntry.objects.count() == 4


@pytest.mark.parametrize(("token", "has_fee"), [("USDC", True), ("EURC", False)])
def test_a_recorded_one_is_used_by_the_one_statement(
    merchant: Merchant, settings: Any, token: str, has_fee: bool
) -> None:
    to = make_seller(merchant, settings)
    take_euros(settings)
    transfer = make_machine_transfer(merchant, to, token=token)
    caller = Caller(merchant.pk, Mode.LIVE)
    assert use_recorded(caller, request_for(transfer), now=transfer.detected_at) is not None
    assert FeeEntry.objects.exists() is has_fee


def test_a_token_that_is_taken_no_more_is_refused_again(merchant: Merchant, settings: Any) -> None:
    to = make_seller(merchant, settings)
    transfer = make_machine_transfer(merchant, to, token="EURC")
    assert verify_it(transfer)["reason"] == "wrong_token"
    take_euros(settings)
    assert verify_it(transfer)["valid"] is True


def test_a_claim_of_another_token_finds_nothing(base: Anvil, base_seller: ApiClient, eurc: str) -> None:
    claim = paid(base, base_seller)
    euros = claim_of(base, claim.tx_hash, claim.pay_to, token="EURC")
    answer = ask(base_seller, euros)
    assert (answer.body["valid"], answer.body["reason"]) == (False, "wrong_token")
