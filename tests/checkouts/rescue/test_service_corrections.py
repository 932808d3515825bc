"""A text that is no transaction's hash: it stays in its field, with what is wrong beside it, and everything else on the page."""

import pytest
from django.test import Client

from checkouts.models import BuyerReport
from tests.checkouts.factories import make_page_checkout
from tests.checkouts.page.test_views import words_in
from tests.checkouts.questions import UNKNOWN, ask
from tests.checkouts.rescue.test_service import STAGES

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "hello",
        "0x9858EfFD232B4033E47d90003D41EC34EcaEda94",
        "\x00",
        "0x" + "5a" * 31 + "\x00",
        "<script>alert(1)</script>",
        "💸" * 64,
        "a" * 10_240,
        f"{UNKNOWN} 0x{'5b' * 32}",
    ],
)
def test_whatever_is_no_hash_is_answered_and_not_filed(text: str, client: Client) -> None:
    refused = ask(client, make_page_checkout(), text)
    words = words_in(refused)
    assert refused.status_code == 400
    assert "That doesn't look like a transaction hash." in words
    assert "<script>alert" not in words
    assert BuyerReport.objects.count() == 0


def test_a_post_without_a_field_is_no_hash(client: Client) -> None:
    response = client.post(f"/c/{make_page_checkout().code}/find")
    assert response.status_code == 400
    assert "That doesn't look like a transaction hash." in words_in(response)


@pytest.mark.parametrize("stage", STAGES)
def test_what_is_no_hash_stays_in_the_field_and_everything_else_on_the_page(stage: str, client: Client) -> None:
    checkout = STAGES[stage]()
    before = words_in(client.get(f"/c/{checkout.code}"))
    typed = 'apple "banana" cherry'
    refused = ask(client, checkout, typed)
    after = words_in(refused)
    assert refused.status_code == 400
    assert refused["Cache-Control"] == "no-store"
    assert "apple &quot;banana&quot; cherry" in after
    assert 'aria-invalid="true" aria-describedby="tx-problem"' in after
    assert 'id="answer"' not in after
    if stage == "expired":
        assert "<b>Already sent it?</b>" in before
        assert "<b>Already sent it?</b>" in after
    # It may be a secret: no address says it, and the page that polls from there stays as it is.
    address = f"/c/{checkout.code}?found=unreadable"
    assert f'data-address="{address}' in after
    status = client.get(address.replace("?", "/status?")).json()["panel"]
    assert "That doesn't look like a transaction hash." in status.replace("&#x27;", "'")
    assert "apple" not in status


def test_a_text_that_is_corrected_keeps_the_network_chosen(client: Client) -> None:
    checkout = make_page_checkout()
    filled = {"tx": "0x12", "chain": "polygon", "token": "USDT"}
    text = words_in(client.post(f"/c/{checkout.code}/find?lang=de", filled))
    assert 'name="token" value="USDT" checked' in text
    query = "found=unreadable&chain=polygon&token=USDT&lang=de"
    assert f'data-address="/c/{checkout.code}?{query}"' in text
