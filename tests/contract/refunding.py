"""What provokes each response of the API of refunds and payouts."""

from payouts.models import Payout
from payouts.states import PayoutStatus
from tests.contract.client import Answer, ApiClient
from tests.contract.payments import pay
from tests.contract.provoking import Case, Send, body_refusals, refusals

BUYER = "0x976EA74026E726554dB657fA54763abd0C3a0aa9"
PAYOUT = {"amount": "250.00", "chain": "base", "token": "USDC", "address": BUYER, "reference": "wage-2026-11-ada"}
REFUND = {"amount": "5.00", "email": "ann@buyer.example", "reason": "One cup was broken", "reference": "rma-17"}


def paid(client: ApiClient) -> str:
    """The id of a checkout that is paid."""
    checkout_id = str(client.created()["id"])
    pay(checkout_id)
    return checkout_id


def refund(client: ApiClient, **fields: object) -> Answer:
    """Ask for a refund of a paid checkout."""
    return client.post("/refunds", {"source": {"checkout": paid(client)}} | REFUND | fields)


def refund_too_much(client: ApiClient) -> Answer:
    """Ask for more than came."""
    return refund(client, amount="25.000001")


def twice(client: ApiClient) -> Answer:
    body = {"source": {"checkout": paid(client)}} | REFUND
    client.post("/refunds", body)
    return client.post("/refunds", body)


def payout(client: ApiClient) -> Answer:
    return client.post("/payouts", PAYOUT)


def payout_twice(client: ApiClient) -> Answer:
    payout(client)
    return payout(client)


def path_of_new(client: ApiClient, path: str, rest: str = "") -> str:
    """The path of a new refund or payout."""
    answer = refund(client, reference="") if path == "/refunds" else client.post("/payouts", PAYOUT | {"reference": ""})
    return f"{path}/{answer.body['id']}{rest}"


def listed(path: str) -> Send:
    def send(client: ApiClient) -> Answer:
        path_of_new(client, path)
        answer = client.get(path)
        assert len(answer.body["data"]) == 1
        return answer

    return send


def being_sent(path: str, rest: str, body: object = None) -> Send:
    def send(client: ApiClient) -> Answer:
        place = path_of_new(client, path, rest)
        Payout.objects.update(status=PayoutStatus.SENDING, address=BUYER)
        return client.send("POST", place, body)

    return send


def on_new(method: str, path: str, rest: str = "", body: object = None) -> Send:
    return lambda client: client.send(method, path_of_new(client, path, rest), body)


def _of(path: str) -> dict[Case, Send]:
    """What both resources answer alike."""
    item = path + "/{payout_id}"
    address, cancel = item + "/address", item + "/cancel"
    given = {"address": BUYER}
    return {
        **refusals("POST", path, path, 60),
        **body_refusals("POST", path, lambda client: path),
        ("get", path, 200): listed(path),
        ("get", path, 400): lambda client: client.get(path, {"status": "x"}),
        **refusals("GET", path, path, 120),
        ("get", item, 200): on_new("GET", path),
        **refusals("GET", path + "/x", item, 120),
        ("post", address, 200): on_new("POST", path, "/address", given),
        ("post", address, 409): being_sent(path, "/address", given),
        **refusals("POST", path + "/x/address", address, 60),
        **body_refusals("POST", address, lambda client: path_of_new(client, path, "/address")),
        ("post", cancel, 200): on_new("POST", path, "/cancel"),
        ("post", cancel, 409): being_sent(path, "/cancel"),
        **refusals("POST", path + "/x/cancel", cancel, 60),
    }


PAYOUTS: dict[Case, Send] = {
    **_of("/refunds"),
    ("post", "/refunds", 201): refund,
    ("post", "/refunds", 200): twice,
    ("post", "/refunds", 404): lambda client: client.post("/refunds", {"source": {"checkout": "chk_live_nobodys"}}),
    ("post", "/refunds", 409): refund_too_much,
    **_of("/payouts"),
    ("post", "/payouts", 201): payout,
    ("post", "/payouts", 200): payout_twice,
    ("post", "/payouts", 409): lambda client: (payout(client), client.post("/payouts", PAYOUT | {"amount": "1"}))[1],
}
