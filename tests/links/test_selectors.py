"""Lists of links, and what each link brought in."""

from decimal import Decimal
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from checkouts.states import CheckoutStatus
from tests.contract.client import ApiClient
from tests.factories import make_checkout
from tests.links.factories import make_invoice, make_link, make_link_checkout


def test_the_list_is_newest_first_and_pages_by_offset_and_by_key(tester: ApiClient) -> None:
    ids = [make_link(tester.merchant).public_id for _ in range(5)][::-1]
    paused = make_link(tester.merchant, status="paused").public_id

    def listed(**query: Any) -> list[str]:
        return [link["id"] for link in tester.get("/links", query).body["data"]]

    assert listed() == [paused, *ids]
    assert listed(status="active", limit=2, offset=1) == ids[1:3]
    assert listed(starting_after=ids[2]) == ids[3:]
    assert tester.get("/links", {"status": "paused"}).body["total"] == 1
    assert "total" not in tester.get("/links", {"include_total": "false"}).body
    for query in ({"starting_after": "lnk_test_x"}, {"status": "open"}, {"limit": 0}):
        assert tester.get("/links", query).status == 400


def test_payments_and_sums_count_completed_checkouts_alone(tester: ApiClient) -> None:
    link = make_link(tester.merchant)
    make_link_checkout(link)
    make_link_checkout(link, amount_received=Decimal("25.003700"))
    for status in CheckoutStatus:
        if status != CheckoutStatus.COMPLETED:
            make_link_checkout(link, status, amount_received=Decimal(7))
    make_link_checkout(link, exception="reversed", amount_received=Decimal(0))
    make_link_checkout(make_link(tester.merchant))
    body = tester.get(f"/links/{link.public_id}").body
    assert (body["payments_count"], body["amount_collected"]) == (2, "50.003700")
    listed = {link["id"]: link for link in tester.get("/links").body["data"]}
    assert listed[link.public_id] == body


def test_late_money_that_was_accepted_counts_too(tester: ApiClient) -> None:
    link = make_invoice(tester.merchant)
    expired = make_link_checkout(link, CheckoutStatus.EXPIRED)
    make_checkout(
        link.merchant, mode=link.mode, status=CheckoutStatus.COMPLETED, replaces=expired, amount_received=Decimal(25)
    )
    body = tester.get(f"/links/{link.public_id}").body
    assert (body["payments_count"], body["amount_collected"]) == (1, "25.000000")
    assert "This invoice is paid" in Client().get(f"/p/{link.code}").content.decode()


def test_a_list_asks_the_database_as_often_for_twenty_links_as_for_one(tester: ApiClient) -> None:
    def questions() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert tester.get("/links").status == 200
        return len(asked)

    make_link_checkout(make_link(tester.merchant))
    questions()
    few = questions()
    for _ in range(19):
        make_link_checkout(make_link(tester.merchant))
    # The key is remembered for seconds only.
    questions()
    assert questions() == few


def test_a_nul_in_an_id_is_not_found(tester: ApiClient) -> None:
    assert tester.get("/links/%00").status == 404
