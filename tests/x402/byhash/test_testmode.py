"""Test keys: no chain is asked, and every reason can be had."""

from dataclasses import replace

import pytest

from accounts.models import FeeEntry
from tests.contract.client import ApiClient, client_of
from tests.x402.calls import Claim, ask, verdict
from wallets.networks import chains
from x402.models import X402Payment
from x402.states import Reason

pytestmark = pytest.mark.django_db

HASHES = {
    "base": "0x" + "5a" * 32,
    "polygon": "0x" + "5a" * 32,
    "ethereum": "0x" + "5a" * 32,
    "ton": "5a" * 32,
    "tron": "5a" * 32,
}


def claim_on(client: ApiClient, chain: str) -> Claim:
    to = client.get("/x402/config").body["payTo"][chain]
    token = client.get("/x402/config").body["assets"][chain][0]
    tx_hash = "5" * 87 + "2" if chain == "solana" else HASHES[chain]
    return Claim(chain, token, tx_hash, to, to)


def test_every_chain_can_be_tried_without_a_wallet_or_a_node(tester: ApiClient) -> None:
    config = tester.get("/x402/config").body
    assert config["networks"] == list(chains())
    for chain in config["networks"]:
        claim = claim_on(tester, chain)
        answer = ask(tester, claim)
        assert answer.body["valid"] is True, answer.body
        assert verdict(tester, claim) == "already_used"
    listed = tester.get("/x402/payments").body
    assert listed["total"] == len(chains())
    assert {one["livemode"] for one in listed["data"]} == {False}
    assert not FeeEntry.objects.exists()


@pytest.mark.parametrize("reason", Reason.values)
def test_a_hash_may_name_the_reason_it_wants(tester: ApiClient, reason: str) -> None:
    claim = replace(claim_on(tester, "base"), tx_hash=f"fail_{reason}")
    answer = ask(tester, claim)
    assert (answer.body["valid"], answer.body["reason"]) == (False, reason)
    assert answer.body["txHash"] == f"fail_{reason}"
    may_change = reason in {"not_found", "not_confirmed"}
    assert (answer.body["retryAfter"] is not None) is may_change


def test_what_does_not_meet_its_requirements_is_refused_in_test_mode_too(tester: ApiClient) -> None:
    claim = claim_on(tester, "base")
    stranger = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
    assert verdict(tester, claim, price="0.51") == "insufficient_amount"
    assert verdict(tester, claim, network="polygon") == "wrong_chain"
    assert verdict(tester, claim, pay_to=stranger) == "wrong_recipient"
    forged = (("signature", "0x" + "11" * 65),)
    assert verdict(tester, claim, extra=forged) == "wrong_payer"
    assert not X402Payment.objects.exists()


@pytest.mark.parametrize(("chain", "token"), [("base", "DOGE"), ("base", "USDT"), ("solana", "USDT"), ("tron", "USDC")])
def test_a_token_that_the_chain_does_not_take_is_refused_as_with_real_money(
    tester: ApiClient, chain: str, token: str
) -> None:
    claim = replace(claim_on(tester, chain), token=token)
    assert verdict(tester, claim) == "wrong_token"
    assert not X402Payment.objects.exists()


def test_keys_work_as_with_real_money_and_merchants_do_not_disturb_each_other(tester: ApiClient) -> None:
    claim = claim_on(tester, "base")
    first = ask(tester, claim, key="k")
    assert first.body["valid"] is True
    assert ask(tester, claim, key="k").body == first.body
    assert ask(tester, claim, key="k", resource="x").code == "duplicate"
    assert verdict(client_of(), claim) == "valid"
    bad = ask(tester, claim, key="k" * 256)
    assert bad.refusal == (400, "parameter_invalid", "Idempotency-Key")
