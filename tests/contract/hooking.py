"""What provokes each response of the API of webhook endpoints, and of deliveries."""

from datetime import timedelta
from itertools import count

from accounts.states import Mode
from tests.contract.client import Answer, ApiClient
from tests.contract.provoking import Case, Send, body_refusals, refusals
from tests.factories import NOON
from tests.webhooks.factories import make_attempt, make_endpoint, new_event
from webhooks.listed.service import MOST_LISTED
from webhooks.models import Delivery
from webhooks.outbox.events import publish

PATH, ITEM = "/webhook_endpoints", "/webhook_endpoints/{endpoint_id}"
TEST, ROTATE = ITEM + "/test", ITEM + "/rotate_secret"
DELIVERIES, DELIVERY = "/webhook_deliveries", "/webhook_deliveries/{delivery_id}"
NEW = {"url": "https://erp.example/florin", "name": "Bookkeeping", "events": ["checkout.completed", "checkout.expired"]}

_number = count(1)


def add(client: ApiClient, **fields: object) -> str:
    """The path of a new endpoint."""
    answer = client.post(PATH, NEW | {"url": f"https://erp.example/{next(_number)}"} | fields)
    return f"{PATH}/{answer.body['id']}"


def default(client: ApiClient) -> str:
    """The path of the default endpoint."""
    assert client.merchant is not None
    make_endpoint(client.merchant, "https://shop.example/hook", mode=Mode.LIVE)
    return f"{PATH}/whe_default"


def add_too_many(client: ApiClient) -> Answer:
    for _ in range(MOST_LISTED):
        add(client)
    return client.post(PATH, NEW)


def list_endpoints(client: ApiClient) -> Answer:
    client.post(PATH, NEW)
    default(client)
    answer = client.get(PATH)
    assert len(answer.body["data"]) == 2
    return answer


def on_new(method: str, rest: str = "", body: object = None) -> Send:
    def send(client: ApiClient) -> Answer:
        created = client.post(PATH, NEW)
        return client.send(method, f"{PATH}/{created.body['id']}{rest}", body)

    return send


def probe_disabled(client: ApiClient) -> Answer:
    return client.send("POST", add(client, enabled=False) + "/test")


def list_refused(client: ApiClient) -> Answer:
    """A list of deliveries, of which one was refused and is tried again."""
    assert client.merchant is not None
    endpoint = make_endpoint(client.merchant, "https://shop.example/hook?key=x")
    event = new_event(client.merchant, url=endpoint.url, subject_id="chk_live_00000000000000000000000000")
    publish([event], now=NOON)
    row = Delivery.objects.get(endpoint=endpoint)
    make_attempt(row)
    Delivery.objects.filter(pk=row.pk).update(tries=1, next_attempt_at=NOON + timedelta(seconds=5))
    answer = client.get(DELIVERIES)
    assert answer.body["data"]
    return answer


def get_refused(client: ApiClient) -> Answer:
    answer = client.get(f"{DELIVERIES}/{list_refused(client).body['data'][0]['id']}")
    assert answer.body["attempts"]
    return answer


HOOKS: dict[Case, Send] = {
    ("post", PATH, 201): lambda client: client.post(PATH, NEW),
    ("post", PATH, 409): add_too_many,
    **refusals("POST", PATH, PATH, 60),
    **body_refusals("POST", PATH, lambda client: PATH),
    ("get", PATH, 200): list_endpoints,
    ("get", PATH, 400): lambda client: client.get(PATH, {"limit": 0}),
    **refusals("GET", PATH, PATH, 60),
    ("get", ITEM, 200): on_new("GET"),
    **refusals("GET", PATH + "/x", ITEM, 60),
    ("patch", ITEM, 200): on_new("PATCH", body={"events": ["checkout.completed"]}),
    ("patch", ITEM, 409): lambda client: client.send("PATCH", default(client), {"name": "Mine"}),
    **refusals("PATCH", PATH + "/x", ITEM, 60),
    **body_refusals("PATCH", ITEM, add),
    # A PATCH without a known field changes nothing, and is no mistake.
    ("patch", ITEM, 400): on_new("PATCH", body={"name": 1}),
    ("delete", ITEM, 204): on_new("DELETE"),
    ("delete", ITEM, 409): lambda client: client.send("DELETE", default(client)),
    **refusals("DELETE", PATH + "/x", ITEM, 60),
    ("post", TEST, 201): on_new("POST", "/test", b""),
    ("post", TEST, 409): probe_disabled,
    **refusals("POST", PATH + "/x/test", TEST, 60),
    ("post", ROTATE, 200): on_new("POST", "/rotate_secret", b""),
    ("post", ROTATE, 409): lambda client: client.send("POST", default(client) + "/rotate_secret"),
    **refusals("POST", PATH + "/x/rotate_secret", ROTATE, 60),
    ("get", DELIVERIES, 200): list_refused,
    ("get", DELIVERIES, 400): lambda client: client.get(DELIVERIES, {"status": "x"}),
    **refusals("GET", DELIVERIES, DELIVERIES, 60),
    ("get", DELIVERY, 200): get_refused,
    **refusals("GET", DELIVERIES + "/x", DELIVERY, 60),
}
