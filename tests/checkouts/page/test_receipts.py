"""The receipt: what it says, for whom there is one, and what it never does."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from accounts.brand.service import change_branding
from accounts.states import Mode
from checkouts.models import Checkout, Payment
from checkouts.page.receipts import receipt_words
from checkouts.page.streaming.hub import read_facts
from checkouts.states import CheckoutException, CheckoutStatus
from tests.checkouts.factories import (
    make_closed,
    make_completed,
    make_expired,
    make_overpaid,
    make_page_checkout,
    make_seen,
    make_underpaid,
    move,
    number_of,
    pay,
)
from tests.checkouts.page.test_views import page_of
from tests.checkouts.watcher import DOLLAR
from tests.factories import NOON, make_live_chain, make_merchant
from tests.payouts.factories import BUYER, approved, make_paid, pay_out, refund_of, take_back
from wallets.transfers.returns import ReturnChange, change_returns, reserve_returns

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


def receipt_of(client: Client, checkout: Checkout) -> str:
    return page_of(client, checkout, "/receipt")


def test_a_receipt_says_who_was_paid_what_for_what_and_when(client: Client) -> None:
    checkout = make_completed()
    text = receipt_of(client, checkout)
    transfer = Payment.objects.get().transfer
    assert checkout.paid_at is not None
    said = [
        "Halden Roasters",
        "49.00 USDC",
        "$49.00 USD",
        "Ethiopia Guji, 3 × 250 g, whole bean",
        f"{checkout.paid_at:%B %Y, %H:%M} UTC",
        number_of(checkout),
        "Base",
        transfer.sender,
        f">{transfer.tx_hash} <span",
    ]
    assert [words for words in said if words not in text] == []


def test_a_receipt_links_each_transaction_and_tells_the_explorer_nothing(client: Client) -> None:
    checkout = make_underpaid()
    pay(checkout, 29_000_000, confirmations=12)
    move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.NONE)
    text = receipt_of(client, checkout)
    assert text.count('rel="noreferrer noopener"') == 2
    for number, amount in (("1 of 2", "20.00 USDC"), ("2 of 2", "29.00 USDC")):
        assert f"Transaction {number}" in text
        assert amount in text


def test_a_receipt_has_one_script_of_ours_and_may_be_kept_by_nobody_between(client: Client) -> None:
    response = client.get(f"/c/{make_completed().code}/receipt")
    scripts = re.findall("<script[^>]*>", response.content.decode())
    assert scripts == ['<script type="module" src="/static/js/receipt.js">']
    assert response["Cache-Control"] == "no-store"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert response["Referrer-Policy"] == "no-referrer"


def test_a_receipt_shows_the_orders_reference_and_nothing_else_that_is_the_shops_own(client: Client) -> None:
    checkout = make_completed()
    assert re.search(r"Order</dt> <dd> <bdi>secret-order</bdi>", receipt_of(client, checkout))
    assert receipt_of(client, checkout).count("secret") == 1
    assert "secret" not in page_of(client, checkout)


def test_a_receipt_lists_the_lines_of_the_metadata_and_the_sellers_legal_lines(client: Client) -> None:
    seller = make_merchant()
    change_branding(seller, changes={"legal_lines": "Halden & Co GmbH\nDE 123456789"}, now=NOON)
    items = '{"name": "Guji <b>whole</b>", "quantity": 3, "unit_price": "12.50"}'
    checkout = make_completed(merchant=seller, metadata=f'{{"line_items": [{items}], "note": "secret-note"}}')
    text = receipt_of(client, checkout)
    for said in ("3 ×", "Guji &lt;b&gt;whole&lt;/b&gt;", "$37.50", "Halden & Co GmbH</p>", "DE 123456789</p>"):
        assert said in text
    assert "secret-note" not in text
    mail = receipt_words(checkout.public_id)
    assert mail is not None
    assert "3 × Guji <b>whole</b>: $37.50" in mail.text
    assert "Order: secret-order" in mail.text
    for words in (mail.text, mail.html):
        assert "DE 123456789" in words
    assert "<b>whole" not in mail.html


def test_the_receipt_of_an_invoice_says_who_was_billed_and_leaves_out_what_is_malformed(client: Client) -> None:
    invoice = '{"number": "2026-014", "buyer": "Ann <b>Ltd</b>", "due": "2026-12-31"}'
    checkout = make_completed(metadata=f'{{"invoice": {invoice}}}')
    text = receipt_of(client, checkout)
    for said in ("2026-014", "Ann &lt;b&gt;Ltd&lt;/b&gt;", '<time datetime="2026-12-31">31 Dec 2026</time>'):
        assert said in text
    mail = receipt_words(checkout.public_id)
    assert mail is not None
    for line in ("Invoice number: 2026-014", "Billed to: Ann <b>Ltd</b>", "Due date: 31 Dec 2026"):
        assert line in mail.text
    # A page that can still be paid may be anybody's.
    assert "2026-014" not in page_of(client, make_page_checkout(metadata=f'{{"invoice": {invoice}}}'))
    for bad in ('{"due": "soon"}', '{"number": 14}', '{"buyer": ["Ann"]}', '"2026-014"', f'{{"buyer": "{"x" * 121}"}}'):
        assert "Invoice number" not in receipt_of(client, make_completed(metadata=f'{{"invoice": {bad}}}'))


def test_until_it_is_paid_the_number_is_a_reference(client: Client) -> None:
    checkout = make_seen()
    text = page_of(client, checkout)
    assert re.search(rf"Reference</dt> <dd[^>]*> {number_of(checkout)}", text)
    assert "Receipt number" not in text
    assert re.search(rf"Receipt number</dt> <dd[^>]*> {number_of(paid := make_completed())}", page_of(client, paid))


@pytest.mark.parametrize("make", [make_page_checkout, make_seen, make_underpaid, make_closed, make_expired])
def test_what_is_not_paid_has_no_receipt(make: Callable[[], Checkout], client: Client) -> None:
    checkout = make()
    asked = client.get(f"/c/{checkout.code}/receipt")
    assert (asked.status_code, asked["Location"]) == (303, f"/c/{checkout.code}")


def test_an_unknown_receipt_is_a_404(client: Client) -> None:
    assert client.get("/c/nnnnnn/receipt").status_code == 404
    assert client.post(f"/c/{make_completed().code}/receipt").status_code == 405


def test_too_much_and_taken_back_are_on_the_receipt(client: Client) -> None:
    assert "Overpaid" in receipt_of(client, make_overpaid())
    checkout = make_completed()
    move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.REVERSED)
    text = receipt_of(client, checkout)
    assert "Reversed by the network" in text
    assert "This receipt is withdrawn." in text
    assert "badge--ok" not in text
    assert "25.00" not in text
    assert "Print receipt" not in text
    assert "/receipt" not in page_of(client, checkout)
    move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.NONE)
    assert "withdrawn" not in receipt_of(client, checkout)


def test_what_was_sent_back_is_on_the_receipt(client: Client) -> None:
    checkout = make_completed()
    transfer = Payment.objects.get().transfer
    reserve_returns({transfer.pk: 5 * DOLLAR})
    assert "Refunded" not in receipt_of(client, checkout)
    change_returns([ReturnChange(transfer.pk, returned=5 * DOLLAR)])
    assert re.search(r"Refunded</dt>\s*<dd[^>]*>\s*<bdi>5.00 USDC</bdi>", receipt_of(client, checkout))
    mail = receipt_words(checkout.public_id)
    assert mail is not None
    assert "Refunded" in mail.text


@pytest.mark.parametrize("token", ["USDC", "USDT"])
def test_what_was_sent_back_is_in_its_own_token_and_gone_while_the_network_has_taken_it_back(
    token: str, client: Client
) -> None:
    checkout = make_paid()
    refund = refund_of(checkout, 5 * DOLLAR, address=BUYER, chain="polygon", token=token).payout
    sent = pay_out(approved(refund))
    assert re.search(rf"Refunded</dt>\s*<dd[^>]*>\s*<bdi>5.00 {token}</bdi>", receipt_of(client, checkout))
    mail = receipt_words(checkout.public_id)
    assert mail is not None
    assert f"5.00 {token}" in mail.text
    take_back(sent)
    assert "Refunded" not in receipt_of(client, checkout)


def test_an_open_page_is_told_of_what_was_sent_back_and_of_what_the_network_took_back_from_the_buyer() -> None:
    checkout = make_paid()
    refund = approved(refund_of(checkout, 5 * DOLLAR, address=BUYER).payout)
    before = read_facts([checkout.pk])[checkout.pk]
    sent = pay_out(refund)
    after = read_facts([checkout.pk])[checkout.pk]
    assert [one.returned for one in before.transfers] == ["0"]
    assert [one.returned for one in after.transfers] == [str(5 * DOLLAR)]
    take_back(sent)
    assert read_facts([checkout.pk])[checkout.pk] == before


def test_what_was_sent_back_in_several_tokens_is_in_dollars(client: Client) -> None:
    checkout = make_paid()
    for chain, token in (("base", "USDC"), ("polygon", "USDT")):
        pay_out(approved(refund_of(checkout, 4 * DOLLAR, address=BUYER, chain=chain, token=token).payout))
    assert "<bdi>8.00 USD</bdi>" in receipt_of(client, checkout)


def test_nothing_is_called_confirmed_while_its_network_contradicts_itself(client: Client) -> None:
    checkout = make_completed()
    make_live_chain("base", halted_reason="a fork", doubted_above=0)
    for text in (page_of(client, checkout), receipt_of(client, checkout)):
        assert "badge--ok" not in text
        assert "send anything again" in text
        assert "data-redirect-seconds" not in text
    assert "We are checking your payment again" in page_of(client, checkout)
    make_live_chain("base", halted_reason="")
    assert "badge--ok" in receipt_of(client, checkout)


def test_a_receipt_of_test_mode_says_that_no_money_moved(client: Client) -> None:
    checkout = make_completed(mode=Mode.TEST)
    assert "Test mode: no real money" in receipt_of(client, checkout)
    assert "Test mode" not in receipt_of(client, make_completed())


def test_the_paid_page_leads_to_it_beside_the_shop_it_opens(client: Client) -> None:
    checkout = make_completed()
    link = f'href="/c/{checkout.code}/receipt" target="_blank" rel="noopener"'
    assert link in page_of(client, checkout)
    held = make_completed(redirect_url="")
    assert 'target="_blank" rel="noopener"' not in page_of(client, held)
    assert "/receipt" not in page_of(client, make_expired())


def test_nobody_is_led_away_from_a_payment_that_was_taken_back(client: Client) -> None:
    checkout = make_completed()
    move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.REVERSED)
    text = page_of(client, checkout)
    assert "Talk to the shop before you send anything again" in text
    assert "data-redirect-seconds" not in text
    assert "; url=" not in text
    assert "Return to Halden Roasters" in text


def test_what_was_too_much_is_named_with_what_becomes_of_it(client: Client) -> None:
    text = page_of(client, make_overpaid())
    assert "You overpaid by 5.00 USDC." in text
    assert "Ask Halden Roasters for a refund" in text
