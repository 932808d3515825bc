from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from gateway.checks import late_money_meets_no_stranger, revocation_is_prompt
from tests.factories import LOCAL_NODES, make_checkout, make_live_chain, make_transfer

pytestmark = pytest.mark.django_db


def test_the_root_says_what_this_is_and_which_chains_are_read(client, settings):
    settings.CHAIN_SETTINGS = LOCAL_NODES
    make_live_chain("base")
    response = client.get("/")
    text = response.content.decode()
    assert response.status_code == 200
    assert "Florin is running" in text
    assert "Base" in text
    for address in ("/account/login/", "/docs/", "/readyz"):
        assert f'href="{address}"' in text


def test_without_chains_it_says_what_works(client, settings):
    settings.CHAIN_SETTINGS = {}
    assert "test keys work" in client.get("/").content.decode()


def test_health_is_plain_and_readiness_asks_the_database(client):
    assert client.get("/healthz").content == b"ok"
    assert client.get("/readyz").json() == {"database": True, "valkey": True}


def test_metrics_exist_only_for_who_knows_the_token(client, settings):
    settings.METRICS_TOKEN = ""
    assert client.get("/metrics").status_code == 404
    settings.METRICS_TOKEN = "open sesame"
    assert (
        client.get("/metrics", headers={"authorization": "Bearer "}).status_code == 404
    )
    make_live_chain("base", head=12, height=10)
    checkout = make_checkout()
    make_transfer(checkout, queued_at=timezone.now() - timedelta(seconds=90))
    text = client.get(
        "/metrics", headers={"authorization": "Bearer open sesame"}
    ).content.decode()
    assert 'florin_chain_blocks_behind{chain="base"} 2.0' in text
    [age] = [
        line
        for line in text.splitlines()
        if line.startswith("florin_transfer_queue_seconds ")
    ]
    assert 90 <= float(age.split()[1]) < 120
    assert "florin_valkey_unavailable_total" in text


def test_a_key_may_not_be_remembered_longer_than_promised(settings):
    settings.API_KEY_CACHE_SECONDS = 6.0
    assert [problem.id for problem in revocation_is_prompt()] == ["gateway.E001"]
    settings.API_KEY_CACHE_SECONDS = 5.0
    assert revocation_is_prompt() == []


@pytest.mark.parametrize(
    ("short", "usual", "problems"),
    [
        (24, 72, []),
        (24, 24, []),
        (23, 72, ["gateway.E002"]),
        (48, 47, ["gateway.E002"]),
    ],
)
def test_an_exact_amount_is_held_for_a_day_at_least(
    settings: Any, short: int, usual: int, problems: list[str]
) -> None:
    settings.EXACT_AMOUNT_SHORT_HOLD_HOURS = short
    settings.EXACT_AMOUNT_HOLD_HOURS = usual
    assert [problem.id for problem in late_money_meets_no_stranger()] == problems
