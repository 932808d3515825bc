"""A link as the API shows it."""

from django.conf import settings as django_settings

from tests.contract.client import ApiClient
from tests.links.bodies import CUSTOM, DONATION, created


def test_the_address_holds_a_code_that_is_not_the_id(tester: ApiClient) -> None:
    link = created(tester, CUSTOM)
    host, _, code = link["url"].rpartition("/p/")
    assert host == django_settings.LINK_HOST
    assert len(code) == 26
    assert code not in link["id"]


def test_the_share_text_says_who_asks_for_what_and_where(tester: ApiClient) -> None:
    link = created(tester, CUSTOM | {"amount": "1250"})
    assert link["share_text"] == f"Tea by Halden Roasters, $1,250.00 {link['url']}"
    donation = created(tester, DONATION)
    assert "Give to Halden Roasters: Trees" in donation["share_text"]


def test_metadata_keeps_its_order_and_its_numbers(tester: ApiClient) -> None:
    body = b'{"title":"Tea","amount":"25","metadata":{"z":1.10,"a":12345678901234567890}}'
    answer = tester.post("/links", body)
    assert b'"metadata":{"z":1.10,"a":12345678901234567890}' in answer.raw
