"""Signed receipts as buyers and strangers get them: the file, its links, and what became of the payment."""

import re
from typing import Any

import pytest
from django.test import Client

from accounts.states import Mode
from checkouts.models import Receipt
from checkouts.page.receipts import receipt_words
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.signing import claims_of
from tests.checkouts.factories import make_completed, make_page_checkout, move
from tests.checkouts.page.test_views import page_of
from tests.checkouts.watcher import DOLLAR
from tests.contract.client import client_of
from tests.contract.provoking import count_requests
from tests.payouts.factories import BUYER, approved, make_paid, pay_out, refund_of, take_back

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well", "still_window")]


def test_the_page_and_the_api_give_the_same_bytes(client: Client) -> None:
    checkout = make_completed()
    file = client.get(f"/c/{checkout.code}/receipt.jws")
    assert (file.status_code, file["Content-Type"]) == (200, "application/jose")
    assert file["Content-Disposition"] == 'attachment; filename="receipt.jws"'
    assert file["Cache-Control"] == "no-store"
    answer = client_of(checkout.merchant, Mode.LIVE).get(f"/checkouts/{checkout.public_id}/receipt")
    assert (answer.status, answer.raw) == (200, file.content)
    assert 500 < len(file.content) < 2_000
    assert client.post(f"/c/{checkout.code}/receipt.jws").status_code == 405


def test_another_tenant_and_the_other_mode_find_no_receipt(client: Client) -> None:
    checkout = make_completed()
    for stranger in (client_of(mode=Mode.LIVE), client_of(checkout.merchant, Mode.TEST)):
        answer = stranger.get(f"/checkouts/{checkout.public_id}/receipt")
        assert (answer.status, answer.code) == (404, "resource_missing")
    assert not Receipt.objects.exists()


def test_what_has_no_receipt_is_a_conflict_for_both(client: Client) -> None:
    waiting, reversed_ = make_page_checkout(), make_completed()
    move(reversed_, CheckoutStatus.COMPLETED, exception=CheckoutException.REVERSED)
    for checkout in (waiting, reversed_):
        file = client.get(f"/c/{checkout.code}/receipt.jws")
        answer = client_of(checkout.merchant, Mode.LIVE).get(f"/checkouts/{checkout.public_id}/receipt")
        assert (file.status_code, answer.status) == (409, 409)
        assert file.json()["error"]["code"] == answer.code == "state_conflict"
    assert client.get("/c/nnnnnn/receipt.jws").json()["error"]["code"] == "resource_missing"


def test_the_pages_and_the_mail_offer_it(client: Client, settings: Any) -> None:
    checkout = make_completed()
    link = f'href="/c/{checkout.code}/receipt.jws" download>Signed receipt</a>'
    assert link in page_of(client, checkout)
    receipt = page_of(client, checkout, "/receipt")
    assert link in receipt
    assert f'href="/verify#{checkout.code}"' in receipt
    assert "paper__proof" in receipt
    mail = receipt_words(checkout.public_id)
    assert mail is not None
    for words in (mail.text, mail.html):
        assert f"/c/{checkout.code}/receipt.jws" in words
    settings.ENCRYPTION_KEYS = []
    receipt = page_of(client, checkout, "/receipt")
    assert "There is no signed receipt: this server has no key for one." in receipt
    mail = receipt_words(checkout.public_id)
    assert mail is not None
    for words in (receipt, page_of(client, checkout), mail.text, mail.html):
        assert re.search(r"receipt\.jws|paper__proof|/verify", words) is None


def test_the_mail_brings_the_bytes_along_because_a_link_needs_this_server(client: Client, settings: Any) -> None:
    checkout = make_completed()
    written = receipt_words(checkout.public_id)
    assert written is not None
    assert written.file is not None
    assert (written.file.name, written.file.media_type) == ("receipt.jws", "application/jose")
    assert written.file.content == client.get(f"/c/{checkout.code}/receipt.jws").content
    assert Receipt.objects.count() == 1
    settings.ENCRYPTION_KEYS = []
    unsigned = receipt_words(make_completed().public_id)
    assert unsigned is not None
    assert unsigned.file is None


def test_a_withdrawn_receipt_is_not_offered(client: Client) -> None:
    checkout = make_completed()
    move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.REVERSED)
    for text in (page_of(client, checkout), page_of(client, checkout, "/receipt")):
        assert re.search(r"receipt\.jws|paper__proof|/verify", text) is None


def test_anybody_with_a_receipt_learns_what_became_of_it_and_nothing_else(client: Client) -> None:
    checkout = make_completed()
    token = client.get(f"/c/{checkout.code}/receipt.jws").content
    path = f"/receipts/{claims_of(token)['jti']}"
    answer = client.get(path)
    assert set(answer.json()) == {"status", "as_of", "sha256"}
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert answer["Cache-Control"] == "no-store"
    assert answer.json()["status"] == "paid"
    move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.REVERSED)
    assert client.get(path).json()["status"] == "reversed"
    unknown = client.get("/receipts/rcp_" + "0" * 26)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "resource_missing")


def test_a_refund_that_its_chain_paid_turns_the_status_and_a_fork_turns_it_back(client: Client) -> None:
    checkout = make_paid()

    def status() -> str:
        return str(client.get(path).json()["status"])

    path = f"/receipts/{claims_of(client.get(f'/c/{checkout.code}/receipt.jws').content)['jti']}"
    refund = refund_of(checkout, 5 * DOLLAR, address=BUYER, chain="polygon", token="USDC").payout
    # What was only asked for, or approved, has moved nothing.
    accepted = approved(refund)
    assert status() == "paid"
    sent = pay_out(accepted)
    assert status() == "partly_refunded"
    said = claims_of(client.get(f"/c/{checkout.code}/receipt.jws").content)
    assert (said["refunded"], "replaces" in said) == ("5.000000", True)
    take_back(sent)
    assert status() == "paid"


def test_a_status_is_asked_sixty_times_a_minute(client: Client) -> None:
    path = "/receipts/rcp_" + "0" * 26
    assert client.get(path, REMOTE_ADDR="192.0.2.7").status_code == 404
    count_requests(58)
    assert [client.get(path, REMOTE_ADDR="192.0.2.7").status_code for _ in range(2)] == [404, 429]
    assert client.get(path, REMOTE_ADDR="192.0.2.8").status_code == 404
