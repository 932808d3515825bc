"""`/wallets`: whose, which, in what order, what changes them, and what is refused."""

from typing import Any

import pytest
import time_machine

from accounts.models import AuditEntry
from accounts.states import Mode
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, WALLET
from wallets.watched import service as services

pytestmark = pytest.mark.django_db

PATH = "/wallets"
NEW = {"chain": "base", "address": WALLET}


def added(shop: ApiClient, **fields: Any) -> dict[str, Any]:
    """The object of a wallet that was new."""
    answer = shop.post(PATH, NEW | fields)
    assert answer.status == 201, answer.body
    body: dict[str, Any] = answer.body
    return body


def listed(shop: ApiClient, path: str = PATH, /, **query: Any) -> list[str]:
    """The ids of a list, in its order."""
    if "since" in query:
        query["from"] = query.pop("since")
    answer = shop.get(path, query)
    assert answer.status == 200, answer.body
    return [row["id"] for row in answer.body["data"]]


def test_the_same_address_again_is_the_wallet_that_is_there(shop: ApiClient) -> None:
    first = added(shop, label="Payroll")
    again = shop.post(PATH, NEW | {"address": WALLET.lower(), "label": "Other"})
    assert (again.status, again.body) == (200, first)
    # An address is another wallet on each network.
    assert added(shop, chain="polygon")["id"] != first["id"]


def test_a_test_key_has_wallets_of_its_own_that_hold_nothing(shop: ApiClient) -> None:
    tester = client_of(shop.merchant, Mode.TEST)
    live, test = added(shop), added(tester, chain="polygon")
    assert test["balances"] == {"USDC": "0.000000", "USDT": "0.000000"}
    assert (test["status"], test["livemode"]) == ("active", False)
    assert (listed(shop), listed(tester)) == ([live["id"]], [test["id"]])
    path = f"{PATH}/{live['id']}"
    for answer in (
        tester.get(path),
        tester.send("PATCH", path, {"label": "x"}),
        tester.send("DELETE", path),
        tester.get(f"{path}/transactions"),
    ):
        assert answer.refusal == (404, "resource_missing", "wallet_id")


def test_another_merchants_wallet_is_none(shop: ApiClient) -> None:
    wallet_id = added(shop)["id"]
    stranger = client_of(mode=Mode.LIVE)
    for method, rest in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/transactions")):
        answer = stranger.send(method, f"{PATH}/{wallet_id}{rest}")
        assert answer.refusal == (404, "resource_missing", "wallet_id")
    assert listed(stranger) == []
    answer = stranger.get(PATH, {"starting_after": wallet_id})
    assert answer.refusal == (400, "parameter_invalid", "starting_after")
    assert listed(shop) == [wallet_id]
    assert shop.get(f"{PATH}/%00").status == 404


def test_no_more_are_watched_than_may_be(shop: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MOST_WATCHED", 1)
    first = added(shop)
    refused = shop.post(PATH, NEW | {"chain": "polygon"})
    assert refused.refusal == (409, "capacity_exhausted", None)
    # What is there is no further one.
    assert shop.post(PATH, NEW).body == first


def test_a_change_leaves_what_it_does_not_name(shop: ApiClient) -> None:
    before = added(shop, label="Payroll", tags=["eu"])
    path = f"{PATH}/{before['id']}"
    assert shop.send("PATCH", path, {}).body == before
    renamed = shop.send("PATCH", path, {"label": "Wages", "chain": "base"}).body
    assert renamed == before | {"label": "Wages"}
    emptied = shop.send("PATCH", path, {"label": None, "tags": None}).body
    assert emptied == before | {"label": "", "tags": []}
    assert shop.get(path).body == emptied


@pytest.mark.parametrize(("name", "value"), [("chain", "polygon"), ("address", "0x" + "11" * 20)])
def test_where_a_wallet_is_cannot_be_changed(shop: ApiClient, name: str, value: str) -> None:
    before = added(shop)
    path = f"{PATH}/{before['id']}"
    answer = shop.send("PATCH", path, {name: value, "label": "x"})
    assert answer.refusal == (400, "parameter_invalid", name)
    assert shop.get(path).body == before


def test_a_wallet_that_was_given_up_is_gone_and_may_be_watched_anew(shop: ApiClient) -> None:
    wallet_id = added(shop)["id"]
    path = f"{PATH}/{wallet_id}"
    gone = shop.send("DELETE", path)
    assert (gone.status, gone.raw) == (204, b"")
    for method in ("GET", "PATCH", "DELETE"):
        assert shop.send(method, path).status == 404
    assert listed(shop) == []
    assert added(shop)["id"] == wallet_id


def test_the_audit_log_names_the_key(shop: ApiClient) -> None:
    assert shop.merchant is not None
    path = f"{PATH}/{added(shop)['id']}"
    shop.send("PATCH", path, {"label": "Wages"})
    shop.send("DELETE", path)
    key_id = shop.merchant.api_keys.get().public_id
    told = AuditEntry.objects.filter(action__startswith="watched_wallet.")
    assert list(told.order_by("pk").values_list("action", "actor_label", "address")) == [
        (f"watched_wallet.{deed}", f"API key {key_id}", shop.address) for deed in ("added", "changed", "removed")
    ]


def test_all_of_it_shares_sixty_requests_a_minute(shop: ApiClient) -> None:
    with time_machine.travel(NOON, tick=False):
        _use_up(shop)


def _use_up(shop: ApiClient) -> None:
    ways = [("GET", PATH), ("POST", PATH), ("GET", f"{PATH}/x/transactions")]
    answers = [shop.send(method, path, b"{}") for method, path in ways * 20]
    assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {"60"}
    assert 429 not in {answer.status for answer in answers}
    assert shop.send("DELETE", f"{PATH}/x").status == 429
