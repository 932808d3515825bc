"""A payer's own id of a payment (extension `payment-identifier`) is one payment's: a payer that signs anew under it pays nothing more."""

import hashlib
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from accounts.models import Merchant
from accounts.states import Mode
from localnet.anvil import Anvil
from localnet.authorizations import authorize
from settlements.models import GasTransaction
from settlements.states import TransactionState
from tests.concurrency.races import together
from tests.contract.client import ApiClient, client_of
from tests.factories import USDC_ON_BASE, make_merchant
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.test_authorizations import make_transaction
from tests.x402.exact.test_forms import told_to
from tests.x402.payers import pay_to_of
from wallets.forwarders.addresses import checksum
from x402.exact.authorizations import LEASE, _is_left, claim, keep_signed
from x402.exact.errors import RefusedPaymentError, TakenElsewhereError
from x402.exact.facilitator import request_of
from x402.exact.inputs import StandardRequest
from x402.models import Authorization, X402Payment
from x402.states import AuthorizationState

CONFLICT = "payment_identifier_conflict"
IDENTIFIER = "pay_7d5d747be160e280504c099d984bcfe0"
UNITS = 10_000

Body = dict[str, Any]


def named(body: Body, identifier: object = IDENTIFIER) -> Body:
    """The same payment under an id, as published clients send it."""
    extension = {"payment-identifier": {"info": {"required": False, "id": identifier}, "schema": {}}}
    return {**body, "paymentPayload": {**body["paymentPayload"], "extensions": extension}}


def paid(client: ApiClient) -> Body:
    """A payment of test mode, another one each time."""
    return body_of(told_to(client), USDC_ON_BASE)


@pytest.mark.django_db
def test_a_second_payment_under_one_id_is_refused(tester: ApiClient) -> None:
    first, second = named(paid(tester)), named(paid(tester))
    assert verify(tester, second)["isValid"]
    answer = settle(tester, first, key="one")
    assert answer["success"], answer
    checked, settled = verify(tester, second), settle(tester, second)
    assert (checked["isValid"], checked["invalidReason"]) == (False, CONFLICT)
    assert (settled["success"], settled["errorReason"], settled["transaction"]) == (False, CONFLICT, "")
    assert X402Payment.objects.count() == 1
    # The first one keeps to the rules of before: its key gets the answer again, and no other does.
    assert settle(tester, first, key="one") == answer
    assert settle(tester, first, key="two")["success"] is False
    assert settle(tester, named(paid(tester), "another_id_of_the_same_payer"))["success"]


@pytest.mark.django_db
def test_an_id_is_one_sellers_and_one_modes(tester: ApiClient) -> None:
    other = client_of(mode=Mode.TEST)
    assert [settle(client, named(paid(client)))["success"] for client in (tester, other)] == [True, True]


@pytest.mark.django_db
@pytest.mark.parametrize("identifier", [None, 7, "", "a" * 15, "a" * 129, "with a space in the id", "ä" * 20, []])
def test_an_id_of_another_form_is_none(tester: ApiClient, identifier: object) -> None:
    assert [settle(tester, named(paid(tester), identifier))["success"] for _ in range(2)] == [True, True]
    assert not Authorization.objects.filter(identifier__isnull=False).exists()


@pytest.mark.django_db
@pytest.mark.parametrize("extensions", [None, [], {"payment-identifier": 1}, {"payment-identifier": {"info": []}}])
def test_extensions_of_another_form_have_no_id(tester: ApiClient, extensions: object) -> None:
    body = paid(tester)
    body["paymentPayload"]["extensions"] = extensions
    assert settle(tester, body)["success"]


@pytest.mark.django_db
def test_the_id_itself_is_not_kept(tester: ApiClient) -> None:
    settle(tester, named(paid(tester)))
    assert bytes(Authorization.objects.get().identifier or b"") == hashlib.sha256(IDENTIFIER.encode()).digest()


def request_for(merchant: Merchant, nonce: str, identifier: bytes | None = b"7") -> StandardRequest:
    """A payment of a payer on Base under an id."""
    row = Authorization(
        merchant=merchant, chain="base", token="USDC", payer="0x01", nonce=nonce, pay_to="0x03", units=UNITS
    )
    return replace(request_of(row), identifier=identifier)


@pytest.mark.django_db
def test_an_id_is_taken_by_the_first_of_two_that_were_not_compared() -> None:
    merchant, now = make_merchant(), timezone.now()
    claim(merchant.pk, request_for(merchant, "0x1"), now=now)
    with pytest.raises(RefusedPaymentError) as caught:
        claim(merchant.pk, request_for(merchant, "0x2"), now=now)
    assert (caught.value.reason, caught.value.payer) == (CONFLICT, "0x01")
    claim(merchant.pk, request_for(merchant, "0x2", None), now=now)
    # Under no id it began. It does not take the other one's now.
    Authorization.objects.filter(nonce="0x2").update(taken_until=None)
    with pytest.raises(RefusedPaymentError):
        claim(merchant.pk, request_for(merchant, "0x2"), now=now)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("values", "is_free"),
    [
        ({"state": AuthorizationState.FAILED}, True),
        ({"state": AuthorizationState.TAKEN, "taken_until": None}, True),
        ({"state": AuthorizationState.TAKEN}, False),
        ({"state": AuthorizationState.TAKEN, "taken_until": None, "tx_hash": "0x5a"}, False),
        ({"state": AuthorizationState.SENT, "taken_until": None, "tx_hash": "0x5a"}, False),
        ({"state": AuthorizationState.SETTLED, "taken_until": None, "tx_hash": "0x5a"}, False),
    ],
)
def test_an_id_is_free_again_where_nothing_was_sent_or_it_failed(values: dict[str, Any], is_free: bool) -> None:
    merchant, now = make_merchant(), timezone.now()
    first = claim(merchant.pk, request_for(merchant, "0x1"), now=now)
    Authorization.objects.update(**values)
    if not is_free:
        with pytest.raises(RefusedPaymentError):
            claim(merchant.pk, request_for(merchant, "0x2"), now=now)
        return
    claim(merchant.pk, request_for(merchant, "0x2"), now=now)
    # The first one is no longer carried out under it, nor by a holder that was only slow.
    with pytest.raises(RefusedPaymentError):
        claim(merchant.pk, request_for(merchant, "0x1"), now=now)
    first.tx_hash = "0x5a"
    with pytest.raises(TakenElsewhereError):
        keep_signed(first, now=now)
    assert Authorization.objects.get(nonce="0x1").state == AuthorizationState.FAILED


@pytest.mark.django_db
def test_what_the_ledger_may_send_keeps_its_id() -> None:
    merchant, now = make_merchant(), timezone.now()
    row = claim(merchant.pk, request_for(merchant, "0x1"), now=now)
    # As a process leaves it that died between the two: nothing of it is in the row yet.
    make_transaction(row.pk)
    Authorization.objects.update(taken_until=None)
    with pytest.raises(RefusedPaymentError):
        claim(merchant.pk, request_for(merchant, "0x2"), now=now)


@pytest.mark.django_db
def test_what_the_ledger_has_dropped_frees_its_id() -> None:
    merchant, now = make_merchant(), timezone.now()
    row = claim(merchant.pk, request_for(merchant, "0x1"), now=now)
    make_transaction(row.pk)
    GasTransaction.objects.update(state=TransactionState.DROPPED)
    Authorization.objects.update(taken_until=None)
    claim(merchant.pk, request_for(merchant, "0x2"), now=now)
    assert Authorization.objects.get(pk=row.pk).state == AuthorizationState.FAILED


@pytest.mark.django_db
def test_an_index_finds_what_the_ledger_has_for_an_authorisation() -> None:
    with connection.cursor() as cursor:
        # So that the plan is one for many rows.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_hashjoin = off")
        cursor.execute("SET LOCAL enable_mergejoin = off")
    assert "gas_transaction_once_per_reference" in Authorization.objects.filter(_is_left(timezone.now())).explain()


@pytest.mark.django_db
def test_an_id_is_one_payers(tester: ApiClient) -> None:
    """Another one that knows a payer's id can neither use it up nor end what is paid under it."""
    merchant, now = make_merchant(), timezone.now()
    first = claim(merchant.pk, request_for(merchant, "0x1"), now=now)
    Authorization.objects.update(taken_until=None)
    others = request_for(merchant, "0x1")
    others = replace(others, signed=replace(others.signed, payer="0x02"))
    assert claim(merchant.pk, others, now=now).identifier
    first.refresh_from_db()
    assert (first.state, bytes(first.identifier or b"")) == (AuthorizationState.TAKEN, b"7")
    for payer in (bytes([0xA1] * 20), bytes([0xB2] * 20)):
        body = named(body_of(told_to(tester, payer=checksum(payer)), USDC_ON_BASE))
        assert verify(tester, body)["isValid"]
        assert settle(tester, body)["success"]


@pytest.mark.django_db
def test_a_payment_that_another_request_holds_is_not_a_conflict_of_its_own_id() -> None:
    merchant, now = make_merchant(), timezone.now()
    claim(merchant.pk, request_for(merchant, "0x1"), now=now)
    with pytest.raises(TakenElsewhereError):
        claim(merchant.pk, request_for(merchant, "0x1"), now=now)
    after = now + LEASE + timedelta(seconds=1)
    assert claim(merchant.pk, request_for(merchant, "0x1"), now=after).identifier


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("no_bells")
def test_of_payments_signed_anew_under_one_id_at_once_one_is_charged(
    base_node: Anvil, exact_seller: ApiClient, usdc: str
) -> None:
    to = pay_to_of(exact_seller)
    bodies = [named(body_of(authorize(base_node, to, UNITS), usdc)) for _ in range(4)]
    answers = together(*[lambda body=body: settle(exact_seller, body) for body in bodies])
    assert sorted(answer["success"] for answer in answers) == [False] * 3 + [True]
    assert {answer.get("errorReason") for answer in answers if not answer["success"]} == {CONFLICT}
    assert X402Payment.objects.count() == GasTransaction.objects.count() == 1


@pytest.mark.django_db
def test_without_the_constraint_two_payments_would_have_one_id() -> None:
    """As two requests have it that looked before either wrote: only the constraint is between them."""
    merchant, now = make_merchant(), timezone.now()
    claim(merchant.pk, request_for(merchant, "0x1"), now=now)
    row = Authorization(merchant=merchant, chain="base", token="USDC", payer="0x01", nonce="0x2", pay_to="0x03")
    row.units, row.mode, row.created_at, row.identifier = UNITS, Mode.LIVE, now, b"7"
    with pytest.raises(IntegrityError, match="x402_identifier_of_one_payment"), transaction.atomic():
        row.save()
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX x402_identifier_of_one_payment")
    claim(merchant.pk, request_for(merchant, "0x3"), now=now)
    assert Authorization.objects.filter(identifier=b"7").count() == 2
