"""The API of terminals: what it takes, what it shows, and that its code makes a device."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry, IdempotencyKey
from accounts.states import Mode
from checkouts.models import Terminal, TerminalSale
from checkouts.till.service import sign_url
from tests.checkouts.till.terminals import make_sale
from tests.contract.client import ApiClient, client_of
from tests.rates.playing import price_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]

PATH = "/terminals"
NEW: dict[str, Any] = {"name": " Bar ", "tips": [10, 5, 10], "chain": "base", "has_sign": True}


@pytest.fixture
def shop() -> ApiClient:
    """A merchant's test key."""
    return client_of(mode=Mode.TEST)


def create(client: ApiClient, **changes: Any) -> dict[str, Any]:
    """A new terminal as the answer has it."""
    body: dict[str, Any] = client.post(PATH, NEW | changes).body
    return body


def test_a_terminal_is_of_the_keys_merchant_and_mode_and_nothing_is_paired(shop: ApiClient) -> None:
    made = create(shop)
    row = Terminal.objects.get()
    assert (row.merchant, row.mode, row.created_by) == (shop.merchant, Mode.TEST, None)
    assert made["id"] == row.public_id
    assert {name: made[name] for name in made.keys() - {"id", "created_at", "sign_url"}} == {
        "name": "Bar",
        "currency": "USD",
        "tips": [5, 10],
        "chain": "base",
        "chains": [],
        "shows_day": False,
        "has_sign": True,
        "link_id": None,
        "has_pin": False,
        "status": "unpaired",
        "device": None,
        "livemode": False,
        "paired_at": None,
        "last_seen_at": None,
        "revoked_at": None,
    }
    assert made["sign_url"] == sign_url(row)
    assert shop.get(f"{PATH}/{made['id']}").body == made
    assert shop.get(PATH).body["data"] == [made]
    entry = AuditEntry.objects.get(action="terminal.added")
    assert entry.actor_label.startswith("API key ")


def test_what_is_left_out_is_plain(shop: ApiClient) -> None:
    made = shop.post(PATH, {"name": "Bar"}).body
    assert (made["tips"], made["chain"], made["has_sign"], made["sign_url"]) == ([], None, False, None)


@pytest.mark.parametrize(
    ("wrong", "param"),
    [
        ({"name": None}, "name"),
        ({"name": "  "}, "name"),
        ({"name": "x" * 41}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"tips": [0]}, "tips"),
        ({"tips": [51]}, "tips"),
        ({"tips": [True]}, "tips"),
        ({"tips": ["5"]}, "tips"),
        ({"tips": [5.0]}, "tips"),
        ({"tips": [1, 2, 3, 4, 5]}, "tips"),
        ({"tips": 5}, "tips"),
        ({"chain": "nowhere"}, "chain"),
        ({"chains": ["nowhere"]}, "chains"),
        ({"chains": "base"}, "chains"),
        ({"currency": "EUR"}, "currency"),
        ({"shows_day": "yes"}, "shows_day"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_added(wrong: dict[str, Any], param: str, shop: ApiClient) -> None:
    answer = shop.post(PATH, NEW | wrong)
    assert (answer.status, answer.error["param"]) == (400, param)
    assert not Terminal.objects.exists()


@pytest.mark.parametrize(("param", "value"), [("chain", "nowhere"), ("chains", ["base", "nowhere"])])
def test_an_unknown_chain_is_refused_by_the_code_for_chains(param: str, value: Any, shop: ApiClient) -> None:
    assert shop.post(PATH, NEW | {param: value}).refusal == (400, "chain_unsupported", param)
    assert shop.post(PATH, NEW | {param: 5}).refusal == (400, "parameter_invalid", param)


def test_a_terminal_may_be_in_a_currency_of_prices(shop: ApiClient, settings: Any) -> None:
    price_in(settings, "EUR")
    assert create(shop, currency="EUR")["currency"] == "EUR"


def test_the_networks_that_stand_first_are_named_once(shop: ApiClient) -> None:
    assert create(shop, chains=["tron", "base", "tron"])["chains"] == ["base", "tron"]


def test_a_pairing_code_is_stored_nowhere_and_a_repeat_makes_another(shop: ApiClient) -> None:
    path = f"/terminals/{create(shop)['id']}/pair"
    first, again = (shop.send("POST", path, HTTP_IDEMPOTENCY_KEY="pair-1") for _ in range(2))
    assert (first.status, again.status) == (201, 201)
    assert first.body["code"] != again.body["code"]
    assert not IdempotencyKey.objects.filter(key="pair-1").exists()
    codes = [Client().post("/till/pair", {"code": one.body["code"]}).status_code for one in (first, again)]
    assert codes == [422, 302]


def test_a_repeat_by_its_key_adds_one(shop: ApiClient) -> None:
    first, again = (shop.send("POST", PATH, NEW, HTTP_IDEMPOTENCY_KEY="bar") for _ in range(2))
    assert first.raw == again.raw
    assert Terminal.objects.count() == 1


def test_the_code_makes_a_browser_a_device_once_and_is_in_no_other_answer(shop: ApiClient, client: Client) -> None:
    path = f"{PATH}/{create(shop)['id']}"
    offered = shop.send("POST", f"{path}/pair")
    assert offered.status == 201
    code = offered.body["code"]
    assert offered.body["url"].endswith(f"/till/pair#{code}")
    assert code not in str(shop.get(path).body)
    assert code.replace("-", "").lower() not in str(AuditEntry.objects.values_list("before", "after"))
    agent = {"User-Agent": "Mozilla/5.0 (Linux; Android 15) Chrome/140"}
    assert client.post("/till/pair", {"code": code}, headers=agent).status_code == 302
    assert client.get("/till/").status_code == 200
    shown = shop.get(path).body
    assert (shown["status"], shown["device"]) == ("paired", "Chrome on Android")
    assert Client().post("/till/pair", {"code": code}).status_code == 422


def test_revoking_is_at_once_and_a_repeat_answers_the_same(shop: ApiClient, client: Client) -> None:
    path = f"{PATH}/{create(shop)['id']}"
    client.post("/till/pair", {"code": shop.send("POST", f"{path}/pair").body["code"]})
    first, again = (shop.send("POST", f"{path}/revoke") for _ in range(2))
    assert (first.body["status"], first.body) == ("revoked", again.body)
    assert first.body["sign_url"] is None
    assert client.get("/till/").status_code == 401
    assert shop.send("POST", f"{path}/pair").code == "state_conflict"
    assert AuditEntry.objects.filter(action="terminal.revoked").count() == 1


def test_sales_are_the_terminals_own_newest_first(shop: ApiClient) -> None:
    made, other = create(shop), create(shop, name="Terrace")
    bar, terrace = (Terminal.objects.get(public_id=one["id"]) for one in (made, other))
    sales = [make_sale(bar, f"{number}.00", tip=Decimal("0.50")) for number in (1, 2, 3)]
    make_sale(terrace)
    answer = shop.get(f"{PATH}/{made['id']}/sales", {"limit": 2})
    assert answer.body["total"] == 3
    ids = [sale.checkout.public_id for sale in reversed(sales)]
    assert [one["checkout_id"] for one in answer.body["data"]] == ids[:2]
    assert {name: answer.body["data"][0][name] for name in ("amount", "currency", "tip", "status", "exception")} == {
        "amount": "3.50",
        "currency": "USD",
        "tip": "0.50",
        "status": "pending",
        "exception": None,
    }
    assert answer.body["data"][0]["accepted_by"] is None
    rest = shop.get(f"{PATH}/{made['id']}/sales", {"starting_after": ids[1], "include_total": "false"})
    assert [one["checkout_id"] for one in rest.body["data"]] == ids[2:]


def test_pages_go_on_among_sales_of_one_moment(shop: ApiClient) -> None:
    made = create(shop)
    bar = Terminal.objects.get()
    for _ in range(3):
        make_sale(bar)
    TerminalSale.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    seen: list[str] = []
    while found := shop.get(
        f"{PATH}/{made['id']}/sales", {"limit": 1} | ({"starting_after": seen[-1]} if seen else {})
    ).body["data"]:
        seen += [one["checkout_id"] for one in found]
    assert len(set(seen)) == len(seen) == 3


@pytest.mark.parametrize("path", [PATH, f"{PATH}/{{}}/sales"])
def test_a_page_after_what_is_not_there_is_refused(path: str, shop: ApiClient) -> None:
    answer = shop.get(path.format(create(shop)["id"]), {"starting_after": "chk_nobody"})
    assert answer.refusal == (400, "parameter_invalid", "starting_after")


def test_terminals_are_paged_by_the_last_one_seen(shop: ApiClient) -> None:
    first, second = create(shop), create(shop)
    assert [one["id"] for one in shop.get(PATH, {"limit": 1}).body["data"]] == [second["id"]]
    assert [one["id"] for one in shop.get(PATH, {"starting_after": second["id"]}).body["data"]] == [first["id"]]
