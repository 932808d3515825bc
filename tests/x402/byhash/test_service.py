"""What somebody asked about, and no watcher has recorded."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from accounts.models import FeeEntry
from accounts.states import Mode
from gateway.core.api.rate_limits import Limit
from localnet.abi import encode_call
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import FAKE, deploy_token, execute, mint, token_address, transfer, transfer_many
from tests.chains import connect
from tests.contract.client import ApiClient, client_of
from tests.factories import make_merchant, make_wallet
from tests.wallets.factories import make_watcher, read_all
from tests.x402.calls import Claim, ask, verdict
from tests.x402.payers import UNITS, claim_of, paid, pay_to_of
from tests.x402.recorded import make_machine_transfer, make_seller, request_for, verify_it
from wallets.models import Transfer
from wallets.networks import chains
from wallets.receiving.service import set_receiving_wallet
from wallets.selectors import forget
from x402.byhash import service
from x402.byhash.service import note_sighting
from x402.models import Authorization, Sighting, X402Payment
from x402.payments.addresses import pay_to
from x402.payments.claims import KEPT, forget_old
from x402.states import Reason

pytestmark = pytest.mark.django_db


def test_what_strangers_make_a_merchant_ask_about_is_not_all_written_down(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "PER_DAY", Limit("x402.sightings", 2, 86_400))
    merchants = [make_merchant(), make_merchant("Another")]
    to = make_seller(merchants[0], settings)
    for merchant in (merchants[0], merchants[0], merchants[0], merchants[1]):
        proof = request_for(make_machine_transfer(merchants[0], to)).proof
        note_sighting(merchant.pk, proof, now=timezone.now())
    counts = [Sighting.objects.filter(merchant=one).count() for one in merchants]
    assert counts == [2, 1]


def test_a_forgotten_sighting_makes_no_payment_younger(settings: Any) -> None:
    merchant = make_merchant()
    now = timezone.now()
    paid_at = now - KEPT - timedelta(hours=2)
    transfer = make_machine_transfer(merchant, make_seller(merchant, settings), block_time=paid_at)
    proof = request_for(transfer).proof
    note_sighting(merchant.pk, proof, now=paid_at + timedelta(minutes=1))
    forget_old(now=paid_at + KEPT)
    assert Sighting.objects.exists()
    forget_old(now=now)
    assert not Sighting.objects.exists()
    assert verify_it(transfer, now=now)["reason"] == "too_old"


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


OTHER_WALLET = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"


def other_seller() -> ApiClient:
    merchant = make_merchant("Another")
    make_wallet(merchant, "base", OTHER_WALLET)
    return client_of(merchant, Mode.LIVE)


def test_a_payment_that_no_watcher_has_read_yet_is_valid_once(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller)
    answer = ask(base_seller, claim)
    assert answer.body["valid"] is True, answer.body
    assert answer.body["txHash"] == claim.tx_hash
    assert answer.body["confirmations"] == 3
    assert verdict(base_seller, claim) == "already_used"
    payment = X402Payment.objects.get()
    assert answer.body["paymentId"] == payment.public_id
    listed = base_seller.get("/x402/payments").body
    assert [one["id"] for one in listed["data"]] == [payment.public_id]
    assert listed["data"][0]["status"] == "verified"
    fee = FeeEntry.objects.get()
    assert (fee.subject_id, fee.received) == (payment.public_id, payment.units / 10**6)


def test_one_transaction_buys_nothing_twice_whoever_asks_for_whatever(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller)
    assert verdict(base_seller, claim) == "valid"
    assert verdict(base_seller, claim, resource="another") == "already_used"
    assert verdict(base_seller, claim, price="0.01", amount="0.01") == "already_used"
    stranger = other_seller()
    assert verdict(stranger, claim) == "wrong_recipient"
    theirs = pay_to_of(stranger)
    assert verdict(stranger, claim, pay_to=theirs) == "wrong_recipient"


def test_what_the_request_says_by_itself_is_judged_without_a_node(
    base: Anvil, base_seller: ApiClient, settings: Any
) -> None:
    claim = paid(base, base_seller)
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"BASE_RPC_URLS": "http://127.0.0.1:1"}
    assert verdict(base_seller, claim, network="polygon") == "wrong_chain"
    assert verdict(base_seller, claim, asset="USDT") == "requirements_mismatch"
    assert verdict(base_seller, claim, price="0.51") == "insufficient_amount"
    assert verdict(base_seller, claim, pay_to=OTHER_WALLET) == "wrong_recipient"
    assert not X402Payment.objects.exists()


def test_what_arrived_is_what_counts_and_not_what_is_claimed(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller)
    assert verdict(base_seller, claim, amount="0.51") == "insufficient_amount"
    more = {"amount": "0.51", "price": "0.51"}
    assert verdict(base_seller, claim, **more) == "insufficient_amount"
    assert verdict(base_seller, claim, payer=OTHER_WALLET) == "wrong_payer"
    assert verdict(base_seller, claim, price="0.20", amount="0.30") == "valid"
    payment = X402Payment.objects.get()
    assert (payment.units, payment.required_units) == (UNITS, 200_000)


def test_a_token_of_the_same_name_is_no_money(base: Anvil, base_seller: ApiClient) -> None:
    to = pay_to_of(base_seller)
    fake = deploy_token(base, "USDC", salt=FAKE)
    mint(base, fake, payer(base).address, UNITS)
    tx_hash = transfer(base, payer(base), fake, to, UNITS)
    base.mine(3)
    assert verdict(base_seller, claim_of(base, tx_hash, to)) == "wrong_token"


def test_the_networks_own_coin_is_no_money(base: Anvil, base_seller: ApiClient) -> None:
    to = pay_to_of(base_seller)
    tx_hash = base.send(payer(base), to=to, value=10**18)
    base.mine(3)
    assert verdict(base_seller, claim_of(base, tx_hash, to)) == "wrong_token"


def test_an_approval_looks_like_a_transfer_and_is_none(base: Anvil, base_seller: ApiClient) -> None:
    to = pay_to_of(base_seller)
    usdc = token_address("USDC")
    approve = "approve(address,uint256)"
    tx_hash = execute(base, payer(base), usdc, approve, to, UNITS)
    base.mine(3)
    assert verdict(base_seller, claim_of(base, tx_hash, to)) == "wrong_recipient"


def test_a_transaction_that_failed_pays_nothing(base: Anvil, base_seller: ApiClient) -> None:
    to = pay_to_of(base_seller)
    much = encode_call("transfer(address,uint256)", to, 10**30)
    tx_hash = base.send(payer(base), to=token_address("USDC"), data=much)
    base.receipt(tx_hash)
    base.mine(3)
    assert verdict(base_seller, claim_of(base, tx_hash, to)) == "failed_transaction"


def test_of_several_transfers_each_pays_by_itself(base: Anvil, base_seller: ApiClient) -> None:
    """Two halves are not one payment, and two equal transfers are two."""
    to = pay_to_of(base_seller)
    stranger = other_seller()
    theirs = pay_to_of(stranger)
    usdc = token_address("USDC")
    payments = [(to, UNITS), (theirs, UNITS), (to, UNITS)]
    tx_hash = transfer_many(base, payer(base), usdc, payments)
    base.mine(3)
    claim = claim_of(base, tx_hash, to)
    assert verdict(base_seller, claim, amount="1", price="1") == "insufficient_amount"
    answers = [verdict(base_seller, claim) for _ in range(3)]
    assert answers == ["valid", "valid", "already_used"]
    assert verdict(stranger, claim, pay_to=theirs) == "valid"
    positions = X402Payment.objects.order_by("position").values_list("position")
    assert len(set(positions)) == 3


def test_what_is_not_deep_enough_may_be_so_later_and_is_not_used_up(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller, blocks=1)
    answer = ask(base_seller, claim)
    assert answer.body["reason"] == "not_confirmed"
    assert answer.body["retryAfter"] == 5
    base.mine()
    assert ask(base_seller, claim).body["message"] == "2 of 3 confirmations."
    base.mine()
    assert verdict(base_seller, claim) == "valid"


def test_what_waits_for_a_block_is_not_found_yet(base: Anvil, base_seller: ApiClient) -> None:
    to = pay_to_of(base_seller)
    base.set_automine(False)
    try:
        tx_hash = transfer(base, payer(base), token_address("USDC"), to, UNITS)
        claim = claim_of(base, tx_hash, to)
        answer = ask(base_seller, claim)
        assert (answer.body["reason"], answer.body["retryAfter"]) == ("not_found", 5)
        base.mine(3)
        assert verdict(base_seller, claim) == "valid"
    finally:
        base.set_automine(True)


def test_a_silent_node_is_no_verdict_and_uses_nothing_up(base: Anvil, base_seller: ApiClient, settings: Any) -> None:
    claim = paid(base, base_seller)
    connect(settings, base="http://127.0.0.1:1")
    answer = ask(base_seller, claim, key="k")
    assert (answer.status, answer.code) == (503, "chain_unavailable")
    connect(settings, base=base.url)
    assert ask(base_seller, claim, key="k").body["valid"] is True


def test_a_wallet_replaced_a_moment_ago_is_paid_still(base: Anvil, base_seller: ApiClient) -> None:
    """A machine that was told of the old forwarder must not have to pay twice."""
    claims = [paid(base, base_seller) for _ in range(2)]
    assert base_seller.merchant is not None
    set_receiving_wallet(base_seller.merchant, chain="base", address=OTHER_WALLET, now=timezone.now())
    forget()
    assert pay_to_of(base_seller) != claims[0].pay_to
    assert verdict(base_seller, claims[0]) == "valid"
    with time_machine.travel(timezone.now() + timedelta(hours=3)):
        assert verdict(base_seller, claims[1]) == "wrong_recipient"


def test_payto_is_made_once_and_only_where_it_can_be_emptied(
    base: Anvil, base_seller: ApiClient, settings: Any
) -> None:
    assert base_seller.merchant is not None
    found = base_seller.get("/x402/config").body
    ours = pay_to(base_seller.merchant.pk, Mode.LIVE, "base")
    assert found == {
        "payTo": {"base": ours},
        "networks": ["base"],
        "assets": {"base": ["USDC"]},
        "scheme": "exact",
        "settlement": {"base": "batch"},
        "missing": [],
        "requiresSignature": False,
    }
    from wallets.models import ChainCursor

    ChainCursor.objects.update(factory_ok=False)
    assert base_seller.get("/x402/config").body["payTo"] == {}


@pytest.mark.parametrize("is_sent", [True, False])
def test_what_an_authorisation_in_hand_moves_is_not_for_whoever_sees_it_first(
    base: Anvil, base_seller: ApiClient, is_sent: bool
) -> None:
    """Its hash is public before its settlement is recorded; in bearer mode anybody could show it."""
    claims = [paid(base, base_seller, blocks=8)]
    read_all(make_watcher(base.url))
    claims.append(paid(base, base_seller))
    assert base_seller.merchant is not None
    authorization = Authorization.objects.create(
        merchant=base_seller.merchant,
        mode=Mode.LIVE,
        chain="base",
        token="USDC",
        payer=claims[0].payer,
        nonce="1",
        pay_to=claims[0].pay_to,
        units=UNITS,
        state="sent" if is_sent else "taken",
        taken_until=None if is_sent else timezone.now() + timedelta(minutes=1),
        created_at=timezone.now(),
    )
    for claim in claims:
        answer = ask(base_seller, claim)
        assert answer.body["message"].startswith("A signed authorisation")
        assert answer.body["retryAfter"] == 5
    # Settled, or given back without anything sent: whatever came then came by itself.
    if is_sent:
        authorization.state = "settled"
    authorization.taken_until = None
    authorization.save()
    assert [verdict(base_seller, claim) for claim in claims] == ["valid", "valid"]


def test_one_merchant_s_nonsense_silences_no_other(base: Anvil, base_seller: ApiClient, settings: Any) -> None:
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"BASE_REQUESTS_PER_MINUTE": "60"}
    noise = claim_of(base, "0x" + "5a" * 32, pay_to_of(base_seller))
    with time_machine.travel(timezone.now().replace(second=1), tick=True):
        names = [f"0x{number:064x}" for number in range(13)]
        told = [ask(base_seller, noise, tx_hash=name).status for name in names]
        assert told == [200] * 11 + [503] * 2
        stranger = other_seller()
        assert verdict(stranger, paid(base, stranger)) == "valid"


def test_lists_are_narrowed_and_strangers_see_nothing(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller)
    assert verdict(base_seller, claim) == "valid"
    for query, count in (
        ({"chain": "base"}, 1),
        ({"chain": "polygon"}, 0),
        ({"token": "USDC", "status": "verified"}, 1),
        ({"status": "reversed"}, 0),
        ({"resource": claim.resource}, 1),
        ({"resource": "x"}, 0),
        ({"created_after": "2100-01-01T00:00:00Z"}, 0),
    ):
        assert base_seller.get("/x402/payments", query).body["total"] == count, query
    assert base_seller.get("/x402/payments", {"status": "x"}).status == 400
    assert other_seller().get("/x402/payments").body["total"] == 0


def test_the_same_key_and_body_get_the_same_answer_and_another_body_none(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller)
    first = ask(base_seller, claim, key="order-7")
    again = ask(base_seller, claim, key="order-7")
    assert first.body["valid"] is True
    assert again.body == first.body
    assert ask(base_seller, claim, key="order-7", price="0.40").code == "duplicate"
    assert ask(base_seller, claim, key="order-8").body["reason"] == "already_used"
    assert verdict(base_seller, claim) == "already_used"


def test_a_key_whose_request_was_refused_may_be_used_again(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller, blocks=1)
    assert ask(base_seller, claim, key="k").body["reason"] == "not_confirmed"
    base.mine(2)
    assert ask(base_seller, claim, key="k").body["valid"] is True


def test_what_its_watcher_recorded_too_early_is_valid_one_block_later(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller, blocks=2)
    # Its watcher does not look again meanwhile.
    read_all(make_watcher(base.url))
    assert Transfer.objects.get().state == "detected"
    answer = ask(base_seller, claim)
    assert (answer.body["reason"], answer.body["retryAfter"]) == ("not_confirmed", 3)
    assert not X402Payment.objects.exists()
    base.mine()
    answer = ask(base_seller, claim)
    assert (answer.body["valid"], answer.body["confirmations"]) == (True, 3)
    assert X402Payment.objects.get().transfer == Transfer.objects.get()


@pytest.mark.parametrize("is_recorded", [True, False])
def test_confirmations_are_counted_where_fewer_are_final(
    base: Anvil, base_seller: ApiClient, settings: Any, is_recorded: bool
) -> None:
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"BASE_CONFIRMATIONS": "2"}
    claim = paid(base, base_seller, blocks=2)
    if is_recorded:
        read_all(make_watcher(base.url, CONFIRMATIONS="2"))
        assert Transfer.objects.get().state == "confirmed"
    answer = ask(base_seller, claim)
    assert (answer.body["valid"], answer.body["confirmations"]) == (True, 2)


def test_a_hash_without_0x_is_the_same_one_and_is_answered_with_it(base: Anvil, base_seller: ApiClient) -> None:
    claim = paid(base, base_seller)
    digits = claim.tx_hash.removeprefix("0x")
    answer = ask(base_seller, replace(claim, tx_hash=digits.upper()))
    assert (answer.body["valid"], answer.body["txHash"]) == (True, claim.tx_hash)
    again = ask(base_seller, replace(claim, tx_hash=digits))
    assert (again.body["reason"], again.body["txHash"]) == ("already_used", claim.tx_hash)


def test_a_payment_that_its_watcher_has_read_needs_no_node(base: Anvil, base_seller: ApiClient, settings: Any) -> None:
    claim = paid(base, base_seller, blocks=8)
    read_all(make_watcher(base.url))
    recorded = Transfer.objects.get()
    assert (recorded.purpose, recorded.state) == ("x402", "confirmed")
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {"BASE_RPC_URLS": "http://127.0.0.1:1"}
    assert verdict(base_seller, claim) == "valid"
    assert verdict(base_seller, claim) == "already_used"
    payment = X402Payment.objects.get()
    assert payment.transfer == recorded
    assert payment.transfer.claim.kind == "x402"
    assert payment.final_at is not None
    # Its money waits in a forwarder.
    assert payment.settled_at is None


def test_age_counts_from_the_first_time_a_payment_was_named(base: Anvil, base_seller: ApiClient, settings: Any) -> None:
    """Even by a request that no node could answer: the outage was ours."""
    named, unnamed = paid(base, base_seller), paid(base, base_seller)
    connect(settings, base="http://127.0.0.1:1")
    assert ask(base_seller, named).status == 503
    connect(settings, base=base.url)
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        assert verdict(base_seller, unnamed) == "too_old"
        assert verdict(base_seller, unnamed) == "too_old"
        assert verdict(base_seller, named) == "valid"
    assert Sighting.objects.filter(tx_hash=named.tx_hash).count() == 1
