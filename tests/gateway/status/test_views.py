"""The public status page."""

import json
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from gateway.status import views
from gateway.status.models import Incident, IncidentKind
from gateway.status.views import current_report
from tests.factories import LOCAL_NODES, NOON, make_checkout, make_live_chain, make_transfer
from tests.webhooks.factories import make_deliveries, make_endpoint

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh(settings: Any) -> None:
    settings.CHAIN_SETTINGS = LOCAL_NODES
    current_report.cache_clear()
    for chain in ("base", "polygon", "ethereum"):
        make_live_chain(chain)


def page(client: Client, query: str = "") -> str:
    current_report.cache_clear()
    return client.get(f"/status{query}").content.decode()


def test_all_is_well(client: Client) -> None:
    response = client.get("/status")
    text = response.content.decode()
    assert response.status_code == 200
    assert response["Cache-Control"] == "public, max-age=5"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert not response.cookies
    for words in ("Everything is working", "Polygon", "No incidents"):
        assert words in text


def test_a_chain_that_is_late_says_how_late(client: Client) -> None:
    make_live_chain("base", head=60, height=10, read_through_at=NOON)
    text = page(client)
    assert "Payments may show up late" in text
    assert "blocks behind: 50" in text
    assert "read until 20 November 2026, 12:00 UTC" in text
    make_live_chain("base", halted_reason="a reorg")
    text = page(client)
    assert "A network was stopped" in text
    assert "stopped</span>" in text
    assert "Recent payments on it may be lost" in text
    assert "No payment is lost" not in text
    assert "We stopped reading it at block 10." in text
    [halt] = client.get("/status.json").json()["disruptions"]
    assert (halt["kind"], halt["chain"], halt["block"]) == ("halted", "base", 10)
    assert halt["heading"] == "Base contradicts what it told us."
    told = {one["chain"]: one for one in client.get("/status.json").json()["chains"]}
    assert (told["base"]["status"], told["base"]["reason"]) == ("down", "halted")
    assert told["polygon"]["reason"] is None
    make_live_chain("base", halted_reason="", head_at=NOON)
    text = page(client)
    assert "A network is not answering" in text
    assert "No payment is lost" in text
    assert client.get("/status.json").json()["chains"][0]["reason"] == "unreachable"


def test_what_two_sources_doubt_is_not_called_safe(client: Client) -> None:
    make_live_chain("base", disagreeing_since=timezone.now())
    text = page(client)
    assert "Two sources of Base disagree." in text
    assert "No payment is lost" not in text


@pytest.mark.parametrize(
    ("kind", "how", "words"),
    [
        (IncidentKind.CHAIN, {"stopped": True}, "Base could not be read"),
        (IncidentKind.CHAIN, {"stopped": True, "halted": True}, "Base was stopped, because it contradicted"),
        (IncidentKind.CHAIN, {}, "Base was read late"),
        (IncidentKind.SOURCES, {}, "Two sources of Base disagreed"),
        (IncidentKind.CREDITS, {}, "Payments were credited late"),
        (IncidentKind.WEBHOOKS, {}, "Webhooks were sent late"),
    ],
)
def test_each_kind_of_incident_has_its_words(
    kind: IncidentKind, how: dict[str, bool], words: str, client: Client
) -> None:
    chain = "base" if kind in (IncidentKind.CHAIN, IncidentKind.SOURCES) else ""
    now = timezone.now()
    incident = Incident.objects.create(kind=kind, chain=chain, began_at=now, **how)
    text = page(client)
    assert words in text
    assert "since" in text
    incident.ended_at = now
    incident.save()
    text = page(client)
    assert words in text
    assert "since" not in text


def test_it_speaks_the_readers_language_and_leads_to_the_others(client: Client) -> None:
    text = page(client, "?lang=de")
    assert "Alles funktioniert" in text
    assert 'href="?lang=de&amp;languages=1#languages"' in text
    response = client.get("/status.json", headers={"Accept-Language": "de"})
    assert "Content-Language" not in response


def test_nothing_of_a_merchant_is_told(client: Client) -> None:
    checkout = make_checkout()
    transfer = make_transfer(checkout, queued_at=NOON)
    make_deliveries(make_endpoint(checkout.merchant, "https://shop.example/hook"))
    told = page(client) + client.get("/status.json").content.decode()
    for secret in (
        checkout.public_id,
        checkout.code,
        checkout.merchant.name,
        transfer.tx_hash,
        transfer.recipient,
        "shop.example",
    ):
        assert secret not in told
    assert "delayed" in told


def test_the_json_is_for_programs(client: Client) -> None:
    response = client.get("/status.json")
    assert response["Cache-Control"] == "public, max-age=5"
    assert json.loads(response.content)["status"] == "ok"
    assert client.post("/status.json").status_code == 405


def test_without_a_database_it_says_that_nothing_works(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OperationalError

    monkeypatch.setattr(views, "current_report", fail)
    response = client.get("/status")
    assert response.status_code == 503
    assert "The system is not available" in response.content.decode()
    response = client.get("/status.json")
    assert response.status_code == 503
    assert response.json() == {"status": "unknown"}
