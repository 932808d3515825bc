"""`/wallets`: whose, which, in what order, what changes them, and what is refused."""

import secrets
from datetime import timedelta
from typing import Any

import pytest
import time_machine

from accounts.models import AuditEntry
from accounts.states import Mode
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, WALLET
from tests.wallets.days import make_movement
from tests.wallets.watched_wallets import (
    finish,
    hold,
    import_through,
    some_address,
    watch,
)
from wallets.models import WatchedWallet
from wallets.states import Direction, TransferState
from wallets.watched import service as services

pytestmark = pytest.mark.django_db

PATH = "/wallets"
NEW = {"chain": "base", "address": WALLET}


@pytest.fixture(autouse=True)
def _fresh_counters(settings: Any) -> None:
    settings.KEY_PREFIX = f"{settings.KEY_PREFIX}:{secrets.token_hex(6)}"


@pytest.fixture
def shop() -> ApiClient:
    """A merchant's live key."""
    return client_of(mode=Mode.LIVE)


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


def test_a_new_wallet_is_answered_as_the_contract_names_it(shop: ApiClient) -> None:
    body = added(shop, address=WALLET.lower(), label=" Payroll ", tags=["eu", "EU"])
    created_at = WatchedWallet.objects.get().created_at
    since = created_at - timedelta(days=30)
    assert body == {
        "id": body["id"],
        "chain": "base",
        "address": WALLET,
        "label": "Payroll",
        "tags": ["eu"],
        "status": "importing",
        "balances": {"USDC": None, "USDT": None},
        "history": {
            "progress": 0,
            "since": f"{since:%Y-%m-%dT%H:%M:%S.%f}Z",
            "error": None,
        },
        "livemode": True,
        "created_at": f"{created_at:%Y-%m-%dT%H:%M:%S.%f}Z",
    }
    assert body["id"].startswith("wal_")
    assert shop.get(f"{PATH}/{body['id']}").body == body


def test_the_same_address_again_is_the_wallet_that_is_there(shop: ApiClient) -> None:
    first = added(shop, label="Payroll")
    again = shop.post(PATH, NEW | {"address": WALLET.lower(), "label": "Other"})
    assert (again.status, again.body) == (200, first)
    # An address is another wallet on each network.
    assert added(shop, chain="polygon")["id"] != first["id"]


def test_balances_and_progress_are_told(shop: ApiClient) -> None:
    assert shop.merchant is not None
    wallet = watch(shop.merchant, chain="polygon")
    hold(wallet, 1_250_500_000)
    hold(wallet, 0, token="USDT")
    import_through(wallet, 41)
    body = shop.get(f"{PATH}/{wallet.public_id}").body
    assert body["balances"] == {"USDC": "1250.500000", "USDT": "0.000000"}
    assert (body["status"], body["history"]["progress"]) == ("importing", 41)
    finish(wallet)
    body = shop.get(f"{PATH}/{wallet.public_id}").body
    assert (body["status"], body["history"]["progress"]) == ("active", 100)


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
    for method, rest in (
        ("GET", ""),
        ("PATCH", ""),
        ("DELETE", ""),
        ("GET", "/transactions"),
    ):
        answer = stranger.send(method, f"{PATH}/{wallet_id}{rest}")
        assert answer.refusal == (404, "resource_missing", "wallet_id")
    assert listed(stranger) == []
    answer = stranger.get(PATH, {"starting_after": wallet_id})
    assert answer.refusal == (400, "parameter_invalid", "starting_after")
    assert listed(shop) == [wallet_id]
    assert shop.get(f"{PATH}/%00").status == 404


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"chain": None}, "chain", "parameter_missing"),
        ({"chain": "bitcoin"}, "chain", "chain_unsupported"),
        ({"chain": ["base"]}, "chain", "parameter_invalid"),
        ({"address": None}, "address", "parameter_missing"),
        ({"address": 1}, "address", "parameter_invalid"),
        ({"address": "0x12"}, "address", "address_invalid"),
        ({"address": WALLET[:-1] + "9"}, "address", "address_invalid"),
        ({"chain": "tron"}, "address", "address_invalid"),
        ({"label": 1}, "label", "parameter_invalid"),
        ({"label": "x" * 81}, "label", "parameter_too_long"),
        ({"tags": "eu"}, "tags", "parameter_invalid"),
        ({"tags": [None]}, "tags", "parameter_invalid"),
        ({"tags": ["a,b"]}, "tags", "parameter_invalid"),
        ({"tags": ["x" * 41]}, "tags", "parameter_too_long"),
        ({"tags": [f"t{n}" for n in range(21)]}, "tags", "parameter_invalid"),
    ],
)
def test_what_cannot_be_watched_is_named(
    shop: ApiClient, body: dict[str, Any], param: str, code: str
) -> None:
    assert shop.post(PATH, NEW | body).refusal == (400, code, param)
    assert not WatchedWallet.objects.exists()


def test_no_more_are_watched_than_may_be(
    shop: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.parametrize(
    ("name", "value"), [("chain", "polygon"), ("address", "0x" + "11" * 20)]
)
def test_where_a_wallet_is_cannot_be_changed(
    shop: ApiClient, name: str, value: str
) -> None:
    before = added(shop)
    path = f"{PATH}/{before['id']}"
    answer = shop.send("PATCH", path, {name: value, "label": "x"})
    assert answer.refusal == (400, "parameter_invalid", name)
    assert shop.get(path).body == before


def test_a_wallet_that_was_given_up_is_gone_and_may_be_watched_anew(
    shop: ApiClient,
) -> None:
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
    assert list(
        told.order_by("pk").values_list("action", "actor_label", "address")
    ) == [
        (f"watched_wallet.{deed}", f"API key {key_id}", shop.address)
        for deed in ("added", "changed", "removed")
    ]


def test_the_list_is_newest_first_narrowed_and_paged(shop: ApiClient) -> None:
    assert shop.merchant is not None
    wallets = [watch(shop.merchant, tags=["eu", f"n{number}"]) for number in range(3)]
    other = watch(shop.merchant, chain="polygon", tags=["us"])
    ids = [wallet.public_id for wallet in (other, *reversed(wallets))]
    assert listed(shop) == ids
    assert listed(shop, chain="polygon") == ids[:1]
    assert listed(shop, tag="eu") == ids[1:]
    assert listed(shop, tag="eu", chain="polygon") == []
    assert listed(shop, tag="e") == []
    assert listed(shop, limit=1, starting_after=ids[1]) == ids[2:3]
    assert listed(shop, limit=2, offset=2) == ids[2:]
    body = shop.get(PATH, {"limit": 2}).body
    assert (body["total"], body["limit"], body["offset"]) == (4, 2, 0)
    assert "total" not in shop.get(PATH, {"include_total": "false"}).body
    shop.send("DELETE", f"{PATH}/{ids[1]}")
    assert listed(shop, starting_after=ids[1]) == ids[2:]


def test_a_movement_is_told_as_the_contract_names_it(shop: ApiClient) -> None:
    assert shop.merchant is not None
    wallet = watch(shop.merchant)
    movement = make_movement(wallet, 24_999_999, direction=Direction.OUT)
    answer = shop.get(f"{PATH}/{wallet.public_id}/transactions")
    assert answer.body == {
        "data": [
            {
                "id": movement.public_id,
                "direction": "out",
                "chain": "base",
                "token": "USDC",
                "amount": "24.999999",
                "tx_hash": movement.tx_hash,
                "position": 0,
                "counterparty_address": movement.counterparty,
                "status": "confirmed",
                "block_time": "2026-11-20T12:01:00.000000Z",
                "confirmed_at": "2026-11-20T12:00:00.000000Z",
            }
        ],
        "total": 1,
        "limit": 20,
        "offset": 0,
    }


def test_movements_are_narrowed_and_paged_newest_block_first(shop: ApiClient) -> None:
    assert shop.merchant is not None
    wallet, other = watch(shop.merchant), watch(shop.merchant)
    make_movement(other)
    day = timedelta(days=1)
    oldest = make_movement(wallet, block_time=NOON - day, token="USDT")
    newest = make_movement(wallet, block_time=NOON + day, direction=Direction.OUT)
    # Of one block: only their keys tell them apart.
    tied = [make_movement(wallet) for _ in range(3)]
    lost = make_movement(wallet, state=TransferState.ORPHANED)
    path = f"{PATH}/{wallet.public_id}/transactions"
    rows = [newest, lost, *reversed(tied), oldest]
    ids = [row.public_id for row in rows]
    assert listed(shop, path) == ids
    assert listed(shop, path, direction="out") == ids[:1]
    assert listed(shop, path, token="USDT") == ids[-1:]
    assert listed(shop, path, since="2026-11-20", to="2026-11-21") == ids[1:-1]
    for narrowed, total in (
        ({}, 6),
        ({"direction": "in"}, 5),
        ({"token": "USDT"}, 1),
        ({"to": "2026-11-21"}, 5),
    ):
        assert shop.get(path, narrowed).body["total"] == total
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while page := listed(shop, path, **query):
        found += page
        query["starting_after"] = page[-1]
    assert found == ids


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ({"from": "yesterday"}, "from", "parameter_invalid"),
        ({"from": "2026-11-21", "to": "2026-11-20"}, "to", "parameter_invalid"),
        ({"token": "DOGE"}, "token", "token_unsupported"),
        ({"direction": "up"}, "direction", "parameter_invalid"),
        ({"limit": "0"}, "limit", "parameter_invalid"),
        ({"starting_after": "mov_1"}, "starting_after", "parameter_invalid"),
        ({"starting_after": "mov_" + "9" * 40}, "starting_after", "parameter_invalid"),
        ({"starting_after": "trf_x"}, "starting_after", "parameter_invalid"),
    ],
)
def test_what_cannot_be_read_of_movements_is_named(
    shop: ApiClient, query: dict[str, str], param: str, code: str
) -> None:
    path = f"{PATH}/{added(shop)['id']}/transactions"
    assert shop.get(path, query).refusal == (400, code, param)


@pytest.mark.parametrize(
    ("query", "param", "code"),
    [
        ({"chain": "bitcoin"}, "chain", "chain_unsupported"),
        ({"tag": "\x00"}, "tag", "parameter_invalid"),
        ({"starting_after": "wal_nobodys"}, "starting_after", "parameter_invalid"),
    ],
)
def test_what_cannot_be_read_of_wallets_is_named(
    shop: ApiClient, query: dict[str, str], param: str, code: str
) -> None:
    assert shop.get(PATH, query).refusal == (400, code, param)


def test_all_of_it_shares_sixty_requests_a_minute(shop: ApiClient) -> None:
    with time_machine.travel(NOON, tick=False):
        _use_up(shop)


def _use_up(shop: ApiClient) -> None:
    ways = [("GET", PATH), ("POST", PATH), ("GET", f"{PATH}/x/transactions")]
    answers = [shop.send(method, path, b"{}") for method, path in ways * 20]
    assert {answer.headers["X-RateLimit-Limit"] for answer in answers} == {"60"}
    assert 429 not in {answer.status for answer in answers}
    assert shop.send("DELETE", f"{PATH}/x").status == 429


def test_a_page_of_wallets_takes_the_same_questions_however_many_they_are(
    shop: ApiClient, django_assert_max_num_queries: Any
) -> None:
    assert shop.merchant is not None
    for _ in range(10):
        hold(watch(shop.merchant, address=some_address()), 1)
    listed(shop)
    # The wallets, their balances, how many there are.
    with django_assert_max_num_queries(3):
        listed(shop)
