"""Buyers, merchants, operators and programs read the same sentences about the same disruption."""

from html import unescape
from typing import Any

import pytest
from django.test import Client

from gateway.status.views import current_report
from tests.checkouts.factories import make_chains_well, make_page_checkout
from tests.dashboard.people import Desk
from tests.factories import NOON, make_live_chain, make_wallet

pytestmark = pytest.mark.django_db

TROUBLES = [
    (
        {"halted_reason": "a fork", "height": 186},
        "Base contradicts what it told us.",
        "We stopped reading it at block 186.",
    ),
    ({"head_at": NOON, "due_at": None}, "Base is not answering.", "We read what we missed as soon as it answers."),
    ({"head": 99}, "Base is delayed.", "We are catching up with it."),
    ({"disagreeing_since": NOON}, "Two sources of Base disagree.", "We compare the sources until they agree."),
]


@pytest.mark.parametrize(("trouble", "heading", "doing"), TROUBLES)
def test_everybody_reads_the_same_about_a_chain(
    trouble: dict[str, Any],
    heading: str,
    doing: str,
    client: Client,
    owner: Desk,
    operators_browser: Client,
    settings: Any,
) -> None:
    make_chains_well(settings)
    make_wallet(owner.merchant)
    make_live_chain("base", **trouble)
    checkout = make_page_checkout()
    current_report.cache_clear()
    pages = [
        client.get(f"/c/{checkout.code}?chain=base").text,
        client.get("/status").text,
        owner.get("dashboard_overview").text,
        operators_browser.get("/operator/health/").text,
    ]
    for page in map(unescape, pages):
        assert heading in page
        assert doing in page
    [of_status] = client.get("/status.json").json()["disruptions"]
    base = client.get("/api/v1/chains").json()["data"][0]["disruption"]
    for told in (of_status, base):
        assert told["heading"] == heading
        assert told["doing"].startswith(doing)
