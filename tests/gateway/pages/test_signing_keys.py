"""The public keys of receipts, as programs and browsers get them."""

import json
from html import unescape
from typing import Any

import pytest
from django.test import Client

from gateway.core.signing import KeyPurpose, jwks, sign
from tests.contract.provoking import count_requests
from tests.factories import NOON

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _installation(settings: Any) -> None:
    settings.BASE_URL, settings.ALLOWED_HOSTS = "https://pay.example", ["pay.example", "old.example", "testserver"]


@pytest.mark.parametrize("path", ["/.well-known/jwks.json", "/.well-known/did.json"])
def test_keys_are_for_any_site_and_kept_for_minutes(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert answer["Cache-Control"] == "public, max-age=300"
    assert client.post(path).status_code == 405


def test_programs_get_every_key_and_the_issuers_document(client: Client) -> None:
    sign({}, KeyPurpose.RECEIPT, now=NOON)
    found = client.get("/.well-known/jwks.json").json()
    assert [key["kid"] for key in found["keys"]] == ["did:web:pay.example#r1", "did:web:pay.example#t1"]
    assert client.get("/.well-known/did.json").json()["id"] == "did:web:pay.example"


def test_a_host_of_before_still_serves_the_keys_that_signed_under_its_name(client: Client, settings: Any) -> None:
    settings.BASE_URL = "https://old.example:8443"
    kid = sign({}, KeyPurpose.RECEIPT, now=NOON).kid
    settings.BASE_URL, settings.LEGACY_HOSTS = "https://pay.example", ["Old.Example:8443"]
    document = client.get("/.well-known/did.json", HTTP_HOST="old.example:8443").json()
    assert (document["id"], document["alsoKnownAs"]) == ("did:web:old.example%3A8443", ["https://pay.example"])
    assert document["assertionMethod"] == [kid] == ["did:web:old.example%3A8443#r1"]
    assert client.get("/.well-known/did.json", HTTP_HOST="pay.example").json()["id"] == "did:web:pay.example"


def test_the_page_has_the_keys_in_it_and_loads_one_script_that_is_no_module(client: Client) -> None:
    page = client.get("/verify")
    text = page.content.decode()
    area = text.partition('<textarea id="keys"')[2].partition(">")[2].partition("</textarea>")[0]
    assert json.loads(unescape(area)) == jwks(now=NOON)
    assert text.count("<script") == 1
    assert '<script src="/static/js/verify.js" defer>' in text
    assert page["Cache-Control"] == "no-store"
    assert "signs no receipts" not in text
    # Of a receipt, and of an offer.
    assert (
        " ".join(text.split()).count("A seller named the resource: the issuer did not check that it is the seller's.")
        == 2
    )


def test_the_page_says_why_nothing_is_signed(client: Client, settings: Any) -> None:
    settings.ENCRYPTION_KEYS = []
    text = client.get("/verify").content.decode()
    assert "This server signs no receipts: its setting <code>ENCRYPTION_KEYS</code> is empty." in " ".join(text.split())


@pytest.mark.usefixtures("still_window")
@pytest.mark.parametrize("path", ["/.well-known/jwks.json", "/.well-known/did.json", "/verify"])
def test_keys_are_limited_by_address(client: Client, path: str) -> None:
    assert client.get(path).status_code == 200
    count_requests(58)
    assert [client.get(path).status_code for _ in range(2)] == [200, 429]
    assert client.get(path, REMOTE_ADDR="192.0.2.1").status_code == 200
