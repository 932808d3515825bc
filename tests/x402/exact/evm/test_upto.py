"""Payments of which the payer signed a maximum (scheme `upto`), on real nodes."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from threading import Lock
from typing import Any

import pytest
import time_machine
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import FeeEntry
from accounts.states import Mode
from localnet.funding import payer
from localnet.permit2 import PERMIT2, UPTO_PROXY, Permit, permit, sign_permit
from localnet.published import USDT
from localnet.tokens import balance_of, execute
from settlements.gas.repair import retire
from settlements.models import GasAccount, GasTransaction
from tests.contract.client import client_of
from tests.nodes.proxy import Answer, Ask, Request, RpcProxy, changed, hangs, honest, methods_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.permits import Stall, first_of, maximum, permit_body, upto_body
from tests.x402.payers import pay_to_of
from wallets.chains.rpc.client import SILENT_SECONDS
from wallets.networks import chain_spec
from x402.exact.authorizations import adopt, claim, forget_unsent
from x402.exact.errors import TakenElsewhereError
from x402.exact.evm import permit2
from x402.exact.facilitator import request_of
from x402.exact.forms import parse_standard
from x402.exact.records import settle_nothing
from x402.exact.senders import TEST_FACILITATOR
from x402.models import Authorization, X402Payment
from x402.states import AuthorizationState

pytestmark = pytest.mark.django_db
MOST, CHARGED = 10_000, 3_500
USED_UP = "permit2_invalid_nonce"


def test_a_part_of_a_maximum_is_paid_and_is_in_the_books(stall: Stall) -> None:
    told = maximum(stall, MOST)
    held = balance_of(stall.node, stall.usdt, told.payer)
    assert verify(stall.client, upto_body(told, 1)) == {"isValid": True, "payer": told.payer}
    answer = settle(stall.client, upto_body(told, 1, CHARGED))
    assert (answer["success"], answer["amount"]) == (True, str(CHARGED)), answer
    assert balance_of(stall.node, stall.usdt, stall.pay_to) == CHARGED
    assert balance_of(stall.node, stall.usdt, told.payer) == held - CHARGED
    payment, row = X402Payment.objects.get(), Authorization.objects.get()
    assert (payment.protocol, payment.units, payment.required_units) == ("upto", CHARGED, CHARGED)
    assert (row.units, row.most_units, row.payment_id) == (CHARGED, MOST, payment.pk)
    assert FeeEntry.objects.get().subject_id == payment.public_id
    (listed,) = stall.client.get("/x402/payments").body["data"]
    assert (listed["protocol"], listed["amount"]) == ("upto", "0.003500")


@pytest.mark.parametrize("again", [CHARGED, CHARGED - 1, CHARGED + 1, 0, MOST])
def test_a_maximum_is_settled_once_whatever_is_asked_for_then(stall: Stall, again: int) -> None:
    told = maximum(stall, MOST)
    first = settle(stall.client, upto_body(told, 1, CHARGED), key="first")
    answer = settle(stall.client, upto_body(told, 1, again))
    assert (answer["success"], answer["errorReason"]) == (False, USED_UP)
    assert answer["transaction"] == first["transaction"]
    assert verify(stall.client, upto_body(told, 1))["invalidReason"] == USED_UP
    assert balance_of(stall.node, stall.usdt, stall.pay_to) == CHARGED
    assert GasTransaction.objects.count() == Authorization.objects.count() == X402Payment.objects.count() == 1
    repeated = settle(stall.client, upto_body(told, 1, again), key="first")
    assert repeated["success"] is (again == CHARGED)


def test_more_than_was_signed_is_never_charged(stall: Stall) -> None:
    told = maximum(stall, MOST)
    answer = settle(stall.client, upto_body(told, 1, MOST + 1))
    assert answer["errorReason"] == "invalid_upto_evm_payload_settlement_exceeds_amount"
    assert not Authorization.objects.exists()
    assert settle(stall.client, upto_body(told, 1, MOST))["success"]
    assert balance_of(stall.node, stall.usdt, stall.pay_to) == MOST


def test_the_database_refuses_more_than_was_signed(stall: Stall) -> None:
    request = parse_standard(upto_body(maximum(stall, MOST), 1, MOST), Mode.LIVE)
    row = claim(merchant_of(stall), request, now=timezone.now())
    for units in (MOST + 1, -1):
        with pytest.raises(IntegrityError, match="x402_authorization_within_signed"), transaction.atomic():
            Authorization.objects.filter(pk=row.pk).update(units=units)
    assert Authorization.objects.filter(pk=row.pk).update(units=0)


def test_where_nothing_was_used_nothing_is_sent_and_nothing_can_be_charged_later(stall: Stall) -> None:
    told = maximum(stall, MOST)
    answer = settle(stall.client, upto_body(told, 1, 0), key="first")
    expected = {"success": True, "transaction": "", "network": "eip155:1", "payer": told.payer, "amount": "0"}
    assert answer == expected
    assert settle(stall.client, upto_body(told, 1, 0), key="first") == expected
    for units in (0, 1, MOST):
        later = settle(stall.client, upto_body(told, 1, units))
        assert (later["success"], later["errorReason"]) == (False, USED_UP)
    assert not GasTransaction.objects.exists()
    assert not X402Payment.objects.exists()
    assert not balance_of(stall.node, stall.usdt, stall.pay_to)


def forgotten_after(later: timedelta) -> int:
    """How many rows the clean-up deletes then."""
    return forget_unsent(now=timezone.now() + later)


def test_a_maximum_that_was_ended_with_nothing_is_kept_while_its_signature_holds(stall: Stall) -> None:
    told = maximum(stall, MOST, deadline=int(time.time()) + 30 * 86_400)
    assert settle(stall.client, upto_body(told, 1, 0))["success"]
    assert forgotten_after(timedelta(days=36)) == 0
    assert settle(stall.client, upto_body(told, 1, CHARGED))["errorReason"] == USED_UP
    assert forgotten_after(timedelta(days=38)) == 1


def test_a_maximum_whose_row_is_forgotten_is_refused_for_its_time(stall: Stall) -> None:
    told = maximum(stall, MOST)
    assert settle(stall.client, upto_body(told, 1, 0))["success"]
    later = timedelta(days=7, minutes=6)
    assert forgotten_after(later) == 1
    with time_machine.travel(timezone.now() + later):
        for units in (0, CHARGED):
            answer = settle(stall.client, upto_body(told, 1, units))
            assert (answer["success"], answer["errorReason"]) == (False, "permit2_deadline_expired")
    assert not GasTransaction.objects.exists()


def test_a_maximum_whose_row_is_gone_too_early_is_charged(stall: Stall) -> None:
    told = maximum(stall, MOST)
    assert settle(stall.client, upto_body(told, 1, 0))["success"]
    Authorization.objects.all().delete()
    assert settle(stall.client, upto_body(told, 1, CHARGED))["success"]


def test_of_two_signatures_with_one_nonce_a_row_ends_the_one_it_was_made_for(stall: Stall) -> None:
    first = maximum(stall, MOST)
    longer = maximum(stall, MOST, nonce=first.nonce, deadline=first.deadline + 86_400)
    assert settle(stall.client, upto_body(first, 1, 0))["success"]
    # As if its seller had closed the connection.
    Authorization.objects.update(served_at=None, served_key="")
    # It would be settled for nothing, and charged once the row is gone.
    for units in (0, CHARGED):
        assert settle(stall.client, upto_body(longer, 1, units))["errorReason"] == USED_UP
    assert settle(stall.client, upto_body(first, 1, 0))["success"]


def test_a_request_that_was_overtaken_by_another_signature_ends_nothing(stall: Stall) -> None:
    first = maximum(stall, MOST)
    longer = maximum(stall, MOST, nonce=first.nonce, deadline=first.deadline + 86_400)
    slow, quick = (parse_standard(upto_body(told, 1, 0), Mode.LIVE) for told in (longer, first))
    held = claim(merchant_of(stall), slow, now=timezone.now())
    claim(merchant_of(stall), quick, now=timezone.now() + timedelta(minutes=1))
    with pytest.raises(TakenElsewhereError):
        settle_nothing(held, slow)
    assert Authorization.objects.get().state == AuthorizationState.TAKEN


def test_nobody_ends_a_maximum_that_its_payer_did_not_sign(stall: Stall) -> None:
    honest = maximum(stall, MOST)
    forged = sign_permit(stall.node, honest, stall.node.accounts[7])
    answer = settle(stall.client, upto_body(forged, 1, 0))
    assert answer["errorReason"] == "invalid_permit2_signature"
    assert settle(stall.client, upto_body(honest, 1, CHARGED))["success"]


def test_a_verification_names_the_whole_maximum(stall: Stall) -> None:
    told = maximum(stall, MOST)
    for units in (0, CHARGED, MOST + 1):
        answer = verify(stall.client, upto_body(told, 1, units))
        assert answer["invalidReason"] == "permit2_amount_mismatch"


def test_a_maximum_of_nothing_is_refused(stall: Stall) -> None:
    body = upto_body(maximum(stall, 0), 1)
    assert verify(stall.client, body)["invalidReason"] == "invalid_permit2_amount"
    assert settle(stall.client, body)["errorReason"] == "invalid_permit2_amount"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"facilitator": PERMIT2}, "upto_facilitator_mismatch"),
        ({"spender": PERMIT2}, "invalid_permit2_spender"),
        ({"deadline": 1}, "permit2_deadline_expired"),
        ({"valid_after": 2**40}, "permit2_not_yet_valid"),
        ({"to": PERMIT2}, "invalid_permit2_recipient_mismatch"),
        ({"token": PERMIT2}, "permit2_token_mismatch"),
    ],
)
def test_a_maximum_for_anything_else_is_refused(stall: Stall, changes: dict[str, Any], reason: str) -> None:
    told = sign_permit(stall.node, replace(maximum(stall, MOST), **changes), payer(stall.node))
    wanted = {"payTo": stall.pay_to, "asset": stall.usdt, "scheme": "upto"}
    body = permit_body(told, 1, **wanted)
    assert verify(stall.client, body)["invalidReason"] == reason
    assert settle(stall.client, body)["errorReason"] == reason
    assert not Authorization.objects.exists()


def test_only_the_account_that_the_payer_named_sends(stall: Stall, settings: Any) -> None:
    named = stall.node.accounts[4]
    settings.GAS_KEYS = [stall.node.accounts[3].key, named.key]
    told = [maximum(stall, MOST, facilitator=one) for one in (named.address, named.address)]
    for one in told:
        assert verify(stall.client, upto_body(one, 1))["isValid"]
        assert settle(stall.client, upto_body(one, 1, CHARGED))["success"]
    sent_by = GasTransaction.objects.values_list("account__address", flat=True)
    assert list(sent_by) == [named.address] * 2


def test_an_account_that_is_retired_is_not_named_and_takes_no_maximum(stall: Stall, settings: Any) -> None:
    first, second = stall.node.accounts[3], stall.node.accounts[4]
    settings.GAS_KEYS = [first.key, second.key]
    told = maximum(stall, MOST)
    retire(first.address, chains=["ethereum"], now=timezone.now())
    assert named_account(stall) == second.address
    assert verify(stall.client, upto_body(told, 1))["invalidReason"] == "upto_facilitator_mismatch"
    # What was verified before is served already.
    assert settle(stall.client, upto_body(told, 1, CHARGED))["success"]
    assert GasTransaction.objects.get().account.address == first.address
    settings.GAS_KEYS = [second.key]
    told = maximum(stall, MOST)
    assert settle(stall.client, upto_body(told, 1, CHARGED))["errorReason"] == "upto_facilitator_mismatch"


@pytest.mark.parametrize("again", [CHARGED, CHARGED + 1, 0])
def test_what_was_charged_and_not_served_is_served_once_whatever_is_asked_for_then(stall: Stall, again: int) -> None:
    told = maximum(stall, MOST)
    assert settle(stall.client, upto_body(told, 1, CHARGED))["success"]
    # As if its seller had closed the connection before the answer.
    Authorization.objects.update(served_at=None, served_key="")
    assert verify(stall.client, upto_body(told, 1))["isValid"]
    answer = settle(stall.client, upto_body(told, 1, again))
    assert (answer["success"], answer.get("amount")) == (True, str(CHARGED)), answer
    assert settle(stall.client, upto_body(told, 1, again))["errorReason"] == USED_UP
    assert verify(stall.client, upto_body(told, 1))["invalidReason"] == USED_UP
    assert balance_of(stall.node, stall.usdt, stall.pay_to) == CHARGED


def test_of_what_was_ended_with_nothing_no_verification_says_that_it_pays(stall: Stall) -> None:
    told = maximum(stall, MOST)
    assert settle(stall.client, upto_body(told, 1, 0))["success"]
    Authorization.objects.update(served_at=None, served_key="")
    assert verify(stall.client, upto_body(told, 1))["invalidReason"] == USED_UP
    assert settle(stall.client, upto_body(told, 1, CHARGED))["errorReason"] == USED_UP
    assert settle(stall.client, upto_body(told, 1, 0))["success"]


def test_an_account_without_coin_takes_no_maximum(stall: Stall, settings: Any) -> None:
    poor = stall.node.accounts[4]
    settings.GAS_KEYS = [stall.node.accounts[3].key, poor.key]
    told = maximum(stall, MOST, facilitator=poor.address)
    assert verify(stall.client, upto_body(told, 1))["isValid"]
    GasAccount.objects.filter(address=poor.address).update(balance_wei=1, balance_at=timezone.now())
    assert verify(stall.client, upto_body(told, 1))["invalidReason"] == "unexpected_verify_error"
    assert settle(stall.client, upto_body(told, 1, CHARGED))["errorReason"] == "unexpected_settle_error"
    assert not GasTransaction.objects.exists()


def merchant_of(stall: Stall) -> int:
    """The merchant whose machines are paid."""
    assert stall.client.merchant is not None
    return stall.client.merchant.pk


def named_account(stall: Stall) -> str:
    """The account that payers are told to name; "" where there is none."""
    kinds = stall.client.get("/x402/supported").body["kinds"]
    found = [kind["extra"]["facilitatorAddress"] for kind in kinds if kind["scheme"] == "upto"]
    assert [kind["x402Version"] for kind in kinds if kind["scheme"] == "upto"] == [2] * len(found)
    return str(found[0]) if found else ""


def test_the_scheme_is_told_where_its_contract_is(stall: Stall, monkeypatch: pytest.MonkeyPatch) -> None:
    assert named_account(stall) == stall.node.accounts[3].address
    monkeypatch.setattr("wallets.chains.evm.authorizations.contracts._deployed", set())
    stall.node.rpc("anvil_setCode", UPTO_PROXY, "0x")
    assert named_account(stall) == ""
    told = maximum(stall, MOST)
    assert not verify(stall.client, upto_body(told, 1))["isValid"]
    assert not settle(stall.client, upto_body(told, 1, CHARGED))["success"]
    assert not GasTransaction.objects.exists()


def is_answered(stall: Stall, account: str) -> bool:
    """Whether the list names this account for maximums, and the chain for other payments, before a silent node was given up."""
    began = time.monotonic()
    named = named_account(stall)
    kinds = stall.client.get("/x402/supported").body["kinds"]
    others = {kind["network"] for kind in kinds if kind["scheme"] == "exact"}
    return named == account and "eip155:1" in others and time.monotonic() - began < SILENT_SECONDS


@pytest.fixture
def proxy(stall: Stall, settings: Any) -> Iterator[RpcProxy]:
    """The chain's only node, which may hang or lie."""
    with RpcProxy(stall.node.url) as proxy:
        settings.CHAIN_SETTINGS = {"ETHEREUM_RPC_URLS": proxy.url}
        yield proxy


def test_a_silent_node_holds_the_list_for_its_limit_and_then_not_for_a_minute(
    stall: Stall, proxy: RpcProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.fault = hangs
    with monkeypatch.context() as patch:
        patch.setattr(permit2, "_MOST_SECONDS", 0.1)
        assert is_answered(stall, "")
    assert proxy.requests == 1
    proxy.fault = honest
    assert is_answered(stall, "")
    assert proxy.requests == 1
    permit2._missing.clear()
    assert is_answered(stall, stall.node.accounts[3].address)


def test_a_request_waits_for_anothers_question_no_longer_than_the_limit(
    stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = permit2._turns.setdefault(tuple(chain_spec("ethereum").rpc_urls), Lock())
    with turn, monkeypatch.context() as patch:
        patch.setattr(permit2, "_MOST_SECONDS", 0.1)
        assert is_answered(stall, "")
    # Nothing was learned of the chain.
    assert is_answered(stall, stall.node.accounts[3].address)


def test_a_chain_without_the_contract_is_asked_once_a_minute_and_one_with_it_once(
    stall: Stall, proxy: RpcProxy
) -> None:
    asked: list[str] = []

    def has_no_code(proxy: RpcProxy, request: Request, ask: Ask) -> Answer:
        asked.extend(methods_of(request))
        return changed(request, ask(request), lambda method, result: "0x" if method == "eth_getCode" else result)

    proxy.fault = has_no_code
    for _ in range(3):
        assert named_account(stall) == ""
    assert asked.count("eth_getCode") == 1
    proxy.fault = honest
    permit2._missing.clear()
    assert named_account(stall) == stall.node.accounts[3].address
    proxy.fault = has_no_code
    assert named_account(stall) == stall.node.accounts[3].address
    assert asked.count("eth_getCode") == 1


def test_the_standards_first_version_has_no_maximums(stall: Stall) -> None:
    body = first_of(upto_body(maximum(stall, MOST), 1), "ethereum")
    body["paymentPayload"]["scheme"] = "upto"
    assert verify(stall.client, body)["invalidReason"] == "unsupported_scheme"


def test_one_number_is_one_payment_in_both_schemes(stall: Stall) -> None:
    told = maximum(stall, MOST)
    exact = permit(stall.node, stall.usdt, stall.pay_to, CHARGED, nonce=told.nonce)
    assert settle(stall.client, upto_body(told, 1, CHARGED))["success"]
    answer = settle(stall.client, permit_body(exact, 1))
    assert (answer["success"], answer["errorReason"]) == (False, USED_UP)
    assert balance_of(stall.node, stall.usdt, stall.pay_to) == CHARGED


def test_a_payer_who_holds_what_is_charged_pays_though_it_holds_less_than_the_maximum(stall: Stall) -> None:
    told = maximum(stall, MOST)
    held = balance_of(stall.node, stall.usdt, told.payer)
    execute(stall.node, payer(stall.node), stall.usdt, "transfer(address,uint256)", PERMIT2, held - CHARGED)
    assert verify(stall.client, upto_body(told, 1))["invalidReason"] == "permit2_insufficient_balance"
    assert settle(stall.client, upto_body(told, 1, CHARGED))["success"]


def test_a_request_that_was_overtaken_with_another_amount_sends_nothing(stall: Stall) -> None:
    told = maximum(stall, MOST)
    slow = parse_standard(upto_body(told, 1, CHARGED), Mode.LIVE)
    fast = parse_standard(upto_body(told, 1, CHARGED + 1), Mode.LIVE)
    held = claim(merchant_of(stall), slow, now=timezone.now())
    Authorization.objects.update(taken_until=None)
    other = claim(merchant_of(stall), fast, now=timezone.now())
    assert settle(stall.client, upto_body(maximum(stall, MOST), 1, 1))["success"]
    made = GasTransaction.objects.get()
    with pytest.raises(TakenElsewhereError):
        adopt(held, made, now=timezone.now())
    assert Authorization.objects.get(pk=held.pk).state == AuthorizationState.TAKEN
    adopt(other, made, now=timezone.now())


def test_a_request_whose_row_is_taken_for_another_amount_before_it_is_read_does_not_hold_it(
    stall: Stall, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = maximum(stall, MOST)
    slow = parse_standard(upto_body(told, 1, CHARGED), Mode.LIVE)
    claim(merchant_of(stall), slow, now=timezone.now())
    Authorization.objects.update(taken_until=None)
    read = Authorization.refresh_from_db

    def overtaken(row: Authorization) -> None:
        Authorization.objects.update(units=CHARGED + 1)
        read(row)

    monkeypatch.setattr(Authorization, "refresh_from_db", overtaken)
    with pytest.raises(TakenElsewhereError):
        claim(merchant_of(stall), slow, now=timezone.now())


def test_what_was_sent_is_found_again_where_our_records_were_lost(stall: Stall) -> None:
    told = maximum(stall, MOST)
    sent = settle(stall.client, upto_body(told, 1, CHARGED))
    Authorization.objects.all().delete()
    X402Payment.objects.all().delete()
    assert settle(stall.client, upto_body(told, 1, CHARGED + 1))["errorReason"] == USED_UP
    Authorization.objects.all().delete()
    again = settle(stall.client, upto_body(told, 1, CHARGED))
    assert (again["success"], again["transaction"]) == (True, sent["transaction"])
    assert balance_of(stall.node, stall.usdt, stall.pay_to) == CHARGED


def test_a_row_tells_its_request(stall: Stall) -> None:
    told = maximum(stall, MOST)
    request = parse_standard(upto_body(told, 1, CHARGED), Mode.LIVE)
    found = request_of(claim(merchant_of(stall), request, now=timezone.now()))
    assert (found.scheme, found.units, found.most_units) == ("upto", CHARGED, MOST)
    assert found.spoken("invalid_exact_evm_insufficient_balance") == "permit2_insufficient_balance"


def test_test_keys_settle_a_part_and_nothing() -> None:
    tester = client_of(mode=Mode.TEST)
    to = pay_to_of(tester, "ethereum")
    extra = {"facilitatorAddress": TEST_FACILITATOR}
    kind = {"x402Version": 2, "scheme": "upto", "network": "eip155:1", "extra": extra}
    assert kind in tester.get("/x402/supported").body["kinds"]
    honest = Permit(
        PERMIT2,
        USDT[1],
        to,
        MOST,
        7,
        2**40,
        spender=UPTO_PROXY,
        signature="0x" + "11" * 65,
        facilitator=TEST_FACILITATOR,
    )
    assert verify(tester, upto_body(honest, 1))["isValid"]
    assert settle(tester, upto_body(honest, 1, CHARGED), key="one")["amount"] == str(CHARGED)
    assert not settle(tester, upto_body(honest, 1, MOST), key="one")["success"]
    nothing = replace(honest, nonce=8)
    assert settle(tester, upto_body(nothing, 1, 0))["transaction"] == ""
    assert not settle(tester, upto_body(nothing, 1, CHARGED))["success"]
    foreign = replace(honest, nonce=9, facilitator=PERMIT2)
    assert settle(tester, upto_body(foreign, 1, CHARGED))["errorReason"] == "upto_facilitator_mismatch"
