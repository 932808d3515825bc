"""The API of webhook endpoints: what it takes, what it shows, and what only people change."""

from base64 import b64encode
from typing import Any

import pytest

from accounts.keys.scopes import PRESETS
from accounts.models import ApiKey, IdempotencyKey
from accounts.states import SCOPES_OF_0_25, Mode, Preset
from gateway.core.api.scopes import Scope
from tests.contract.client import ApiClient, client_of
from tests.factories import NOON, make_key
from tests.webhooks.factories import HOOK, make_endpoint, new_event
from webhooks.models import Delivery, Endpoint, SigningSecret
from webhooks.outbox.events import publish
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db
PATH = "/webhook_endpoints"
NEW = {"url": "https://erp.example/florin", "name": " Bookkeeping ", "events": ["checkout.completed"]}
SECRET = "whsec_" + b64encode(b"k" * 32).decode()


@pytest.fixture
def seller() -> ApiClient:
    """A merchant's live key."""
    return client_of(mode=Mode.LIVE)


def create(client: ApiClient, **changes: Any) -> dict[str, Any]:
    """A new endpoint as the answer has it."""
    body: dict[str, Any] = client.post(PATH, NEW | changes).body
    return body


def test_an_endpoint_is_answered_with_its_secret_once(seller: ApiClient) -> None:
    created = create(seller)
    secret = created.pop("secret")
    assert secret.startswith("whsec_")
    assert created["id"].startswith("whe_")
    assert {name: created[name] for name in ("url", "name", "enabled", "is_default", "health", "livemode")} == {
        "url": NEW["url"],
        "name": "Bookkeeping",
        "enabled": True,
        "is_default": False,
        "health": "healthy",
        "livemode": True,
    }
    assert created["events"] == ["checkout.completed", "checkout.reversed", "checkout.restored"]
    assert seller.get(f"{PATH}/{created['id']}").body == created
    assert seller.get(PATH).body["data"] == [created]
    assert secret.encode() not in bytes(SigningSecret.objects.get().sealed)


def test_a_secret_may_be_the_clients_own(seller: ApiClient) -> None:
    assert create(seller, secret=SECRET)["secret"] == SECRET
    for wrong in ("whsec_", "whsec_" + "a" * 8, SECRET.removeprefix("whsec_"), SECRET + "é", "whsec_" + "A" * 90, 1):
        refused = seller.post(PATH, NEW | {"url": "https://b.example/", "secret": wrong})
        assert refused.refusal[0::2] == (400, "secret")
        assert str(wrong) not in refused.error["message"] or wrong in {"whsec_", 1}


def test_types_to_choose_are_named_and_never_part_of_null(seller: ApiClient) -> None:
    assert create(seller, events=None)["events"] is None
    chosen = create(seller, url="https://desk.example/", events=["inbox.closed", "inbox.opened"])
    assert chosen["events"] == ["inbox.opened", "inbox.closed"]
    changed = seller.send("PATCH", f"{PATH}/{chosen['id']}", {"name": "Desk"}).body
    assert changed["events"] == chosen["events"]
    assert seller.send("PATCH", f"{PATH}/{chosen['id']}", {"events": None}).body["events"] is None


@pytest.mark.parametrize(
    ("changes", "code", "param"),
    [
        ({"url": None}, "parameter_missing", "url"),
        ({"url": ""}, "parameter_missing", "url"),
        ({"url": "ftp://a.example/"}, "url_invalid", "url"),
        ({"url": "https://10.0.0.1/"}, "url_forbidden", "url"),
        ({"events": []}, "parameter_invalid", "events"),
        ({"events": ["unheard.of"]}, "parameter_invalid", "events"),
        ({"events": "checkout.completed"}, "parameter_invalid", "events"),
        ({"events": [["checkout.completed"]]}, "parameter_invalid", "events"),
        ({"name": "x" * 81}, "parameter_too_long", "name"),
        ({"enabled": "yes"}, "parameter_invalid", "enabled"),
    ],
)
def test_a_mistake_is_named(seller: ApiClient, settings: Any, changes: dict[str, Any], code: str, param: str) -> None:
    settings.WEBHOOK_ALLOW_LOOPBACK = False
    assert seller.post(PATH, NEW | changes).refusal == (400, code, param)
    assert not Endpoint.objects.exists()


def test_what_is_absent_stays(seller: ApiClient) -> None:
    created = create(seller)
    path = f"{PATH}/{created['id']}"
    changed = seller.send("PATCH", path, {"enabled": False}).body
    assert (changed["enabled"], changed["health"]) == (False, "disabled")
    assert changed["disabled_reason"].startswith("Disabled by API key key_")
    assert (changed["name"], changed["events"]) == ("Bookkeeping", created["events"])
    changed = seller.send("PATCH", path, {"events": None, "url": "https://crm.example/", "secret": SECRET}).body
    assert (changed["events"], changed["url"], changed["enabled"]) == (None, "https://crm.example/", False)
    assert (seller.send("DELETE", path).status, seller.get(path).status) == (204, 404)


def test_what_is_absent_stays_as_it_is_stored_whatever_is_allowed_now(seller: ApiClient) -> None:
    path = f"{PATH}/{create(seller)['id']}"
    # A plugin may choose only types that are never sent.
    Endpoint.objects.update(url="https://10.0.0.1/", events=[])
    changed = seller.send("PATCH", path, {"enabled": False})
    assert changed.status == 200
    assert {name: changed.body[name] for name in ("url", "name", "events", "enabled")} == {
        "url": "https://10.0.0.1/",
        "name": "Bookkeeping",
        "events": [],
        "enabled": False,
    }
    # Null is no value of it, and turns nothing on.
    nulls = seller.send("PATCH", path, {"enabled": None, "name": None}).body
    assert (nulls["enabled"], nulls["name"]) == (False, "")
    for url, code in ((None, "parameter_missing"), ("", "parameter_missing"), ("https://10.0.0.1/", "url_forbidden")):
        assert seller.send("PATCH", path, {"url": url}).refusal == (400, code, "url")


def test_the_default_endpoint_is_shown_and_changed_by_people_alone(seller: ApiClient) -> None:
    assert seller.merchant is not None
    make_endpoint(seller.merchant, HOOK)
    path = f"{PATH}/whe_default"
    shown = seller.get(path).body
    assert (shown["id"], shown["url"], shown["is_default"], shown["events"]) == ("whe_default", HOOK, True, None)
    assert [one["id"] for one in seller.get(PATH).body["data"]] == ["whe_default"]
    for method, rest in (("PATCH", ""), ("DELETE", ""), ("POST", "/rotate_secret")):
        assert seller.send(method, path + rest, {"name": "Mine"}).refusal == (409, "state_conflict", None)
    assert client_of(seller.merchant, Mode.TEST).get(path).status == 404
    assert seller.send("POST", path + "/test").status == 201
    assert Endpoint.objects.get().url == HOOK


def test_a_test_event_is_on_its_way_to_this_endpoint_alone(seller: ApiClient) -> None:
    first, _ = create(seller), create(seller, url="https://b.example/")
    sent = seller.send("POST", f"{PATH}/{first['id']}/test")
    assert sent.status == 201
    delivery = Delivery.objects.get()
    assert (sent.body["id"], sent.body["event_id"]) == (delivery.public_id, delivery.event.public_id)
    assert delivery.endpoint.url == first["url"]


def test_pages_of_the_list(seller: ApiClient) -> None:
    ids = [create(seller, url=f"https://{number}.example/")["id"] for number in range(4)][::-1]
    page = seller.get(PATH, {"limit": 2, "offset": 1}).body
    assert ([one["id"] for one in page["data"]], page["total"]) == (ids[1:3], 4)
    page = seller.get(PATH, {"starting_after": ids[2], "include_total": "false"}).body
    assert ([one["id"] for one in page["data"]], "total" in page) == (ids[3:], False)
    assert seller.get(PATH, {"starting_after": "whe_nobody"}).refusal == (400, "parameter_invalid", "starting_after")


def test_no_key_of_before_may_touch_endpoints_and_a_plugins_may() -> None:
    new = {Scope.WEBHOOKS_READ, Scope.WEBHOOKS_WRITE}
    assert not new & set(SCOPES_OF_0_25)
    assert not new & (set(PRESETS[Preset.SHOP]) | set(PRESETS[Preset.EVERYTHING]))
    assert set(PRESETS[Preset.SHOP_PLUGIN]) == set(PRESETS[Preset.SHOP]) | new


@pytest.fixture
def plugin(seller: ApiClient) -> ApiClient:
    """Another key of the merchant's, of the preset *Shop plugin*: it reads refunds and no inbox."""
    assert seller.merchant is not None
    _, secret = make_key(seller.merchant, Mode.LIVE, *PRESETS[Preset.SHOP_PLUGIN])
    return ApiClient(key=secret, merchant=seller.merchant)


def test_a_key_gives_an_endpoint_only_types_that_it_may_read(seller: ApiClient, plugin: ApiClient) -> None:
    refused = plugin.post(PATH, NEW | {"events": ["checkout.completed", "inbox.opened"]})
    assert (refused.refusal, refused.error["required_scope"]) == ((403, "scope_insufficient", "events"), "inbox:read")
    assert not Endpoint.objects.exists()
    # People read on the key's page what it lacked.
    assert ApiKey.objects.filter(refused_scope="inbox:read").count() == 1
    made = create(plugin, events=["checkout.processing", "refund.paid"])
    path = f"{PATH}/{made['id']}"
    assert plugin.send("PATCH", path, {"events": ["inbox.closed"]}).refusal == refused.refusal
    assert plugin.get(path).body["events"] == made["events"]
    for events in (["payout.paid"], None):
        assert plugin.send("PATCH", path, {"events": events}).status == 200
    assert seller.merchant is not None
    _, secret = make_key(seller.merchant, Mode.LIVE, Scope.WEBHOOKS_WRITE, Scope.INBOX_READ)
    refused = ApiClient(key=secret).post(PATH, NEW | {"url": HOOK, "events": ["refund.paid"]})
    assert refused.error["required_scope"] == "payouts:read"


def test_a_refusal_in_the_transaction_of_an_idempotency_key_is_noted(seller: ApiClient, plugin: ApiClient) -> None:
    path = f"{PATH}/{create(seller, events=['inbox.opened'])['id']}/rotate_secret"
    refused = plugin.send("POST", path, HTTP_IDEMPOTENCY_KEY="k")
    assert refused.error["required_scope"] == "inbox:read"
    assert not IdempotencyKey.objects.exists()
    # People read on the key's page what it lacked.
    assert ApiKey.objects.filter(refused_scope="inbox:read").count() == 1


def test_a_key_changes_no_endpoint_with_types_that_it_may_not_read(seller: ApiClient, plugin: ApiClient) -> None:
    desk = create(seller, events=["inbox.opened"])
    path, secrets = f"{PATH}/{desk['id']}", SigningSecret.objects.count()
    for change in ({"url": "https://thief.example/"}, {"enabled": True}, {"events": ["checkout.completed"]}):
        assert plugin.send("PATCH", path, change).refusal == (403, "scope_insufficient", "events")
    assert plugin.send("POST", path + "/rotate_secret").refusal == (403, "scope_insufficient", "events")
    assert SigningSecret.objects.count() == secrets
    desk.pop("secret")
    assert plugin.get(path).body == desk
    assert seller.send("PATCH", path, {"url": "https://b.example/"}).status == 200
    assert plugin.send("DELETE", path).status == 204


@pytest.mark.parametrize("status", [DeliveryStatus.PENDING, DeliveryStatus.HELD, DeliveryStatus.FAILED])
def test_what_waits_at_an_endpoint_is_not_moved_by_a_key_that_may_not_read_it(
    seller: ApiClient, plugin: ApiClient, status: DeliveryStatus
) -> None:
    path = f"{PATH}/{create(seller, events=['inbox.opened'])['id']}"
    assert seller.merchant is not None
    publish([new_event(seller.merchant, type="inbox.opened", url=None)], now=NOON)
    assert seller.send("PATCH", path, {"events": None}).status == 200
    Delivery.objects.update(status=status)
    moved = {"url": "https://thief.example/"}
    assert plugin.send("PATCH", path, moved).refusal == (403, "scope_insufficient", "events")
    Delivery.objects.update(status=DeliveryStatus.DELIVERED)
    assert plugin.send("PATCH", path, moved).status == 200
