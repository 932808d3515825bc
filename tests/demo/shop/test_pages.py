"""The shop's page: products, and nothing of others' in it but as text."""

import pytest

from tests.demo.shop.client import Client

NESTED = b'{"a":' * 500 + b"1" + b"}" * 500


def test_the_page_offers_three_products(empty_shop: Client) -> None:
    status, page = empty_shop.ask("GET", "/")
    assert status == 200
    assert page.count('action="/buy"') == 3


@pytest.mark.parametrize("body", [b"", b"[]", b"[" * 100_000, NESTED, b"\xff\x00", b"<script>alert(1)</script>"])
def test_no_webhook_body_breaks_the_page_or_gets_into_it(empty_shop: Client, body: bytes) -> None:
    assert empty_shop.ask("POST", "/webhook", body)[0] == 400
    status, page = empty_shop.ask("GET", "/")
    assert status == 200
    assert "<script>alert" not in page


def test_the_note_of_thanks_is_shown_as_text(empty_shop: Client) -> None:
    _, page = empty_shop.ask("GET", "/?order=%3Cimg%20src%3Dx%3E&status=completed")
    assert "Thank you for order &lt;img src=x&gt;." in page
