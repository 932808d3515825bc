"""What provokes each response of the x402 API."""

from django.utils import timezone

from accounts.states import Mode
from tests.contract.client import Answer, ApiClient, client_of
from tests.contract.provoking import Case, Send, body_refusals, refusals
from tests.factories import USDC_ON_BASE
from tests.x402.calls import Claim, ask
from tests.x402.recorded import PAYER, make_machine_transfer
from wallets.models import ChainCursor
from wallets.states import TransferState
from x402.payments.addresses import pay_to

CONFIG, PAYMENTS = "/x402/config", "/x402/payments"
VERIFY, SETTLE, SUPPORTED, OFFERS = "/x402/verify", "/x402/settle", "/x402/supported", "/x402/offers"
REPORT = "https://shop.example/report/7"
UNREADABLE = {"x402Version": 2, "paymentPayload": {}, "paymentRequirements": {}}


def claim_of(client: ApiClient, *, is_recorded: bool = True) -> Claim:
    """A machine's payment on Base, recorded by its watcher or known to no node."""
    assert client.merchant is not None
    to = pay_to(client.merchant.pk, Mode.LIVE, "base")
    assert to is not None
    tx_hash = "0x" + "5a" * 32
    if is_recorded:
        ChainCursor.objects.filter(chain="base").update(head=1_000)
        tx_hash = make_machine_transfer(client.merchant, to).tx_hash
    return Claim("base", "USDC", tx_hash, PAYER, to)


def verified(client: ApiClient) -> Answer:
    answer = ask(client, claim_of(client))
    assert answer.body["valid"]
    return answer


def same_key(client: ApiClient) -> Answer:
    claim = claim_of(client)
    ask(client, claim, key="order-7")
    return ask(client, claim, key="order-7", resource="another")


def offered(client: ApiClient, **headers: str) -> Answer:
    """Offers of a test key, which needs no gas."""
    assert client.merchant is not None
    to = pay_to(client.merchant.pk, Mode.TEST, "base")
    price = {"scheme": "exact", "network": "eip155:8453", "asset": USDC_ON_BASE, "payTo": to, "amount": "10000"}
    body = {"resource": REPORT, "accepts": [price]}
    return client_of(client.merchant, Mode.TEST).send("POST", OFFERS, body, **headers)


def offered_another(client: ApiClient) -> Answer:
    assert client.merchant is not None
    assert offered(client, HTTP_IDEMPOTENCY_KEY="k").status == 200
    return client_of(client.merchant, Mode.TEST).send("POST", OFFERS, {}, HTTP_IDEMPOTENCY_KEY="k")


def listed(client: ApiClient) -> Answer:
    verified(client)
    answer = client.get(PAYMENTS)
    assert answer.body["data"]
    return answer


def without_gas(client: ApiClient) -> Answer:
    assert client.merchant is not None
    to = pay_to(client.merchant.pk, Mode.LIVE, "base")
    assert to is not None
    make_machine_transfer(client.merchant, to, state=TransferState.CONFIRMED, confirmed_at=timezone.now())
    return client.post(SETTLE, {})


MACHINES: dict[Case, Send] = {
    ("get", CONFIG, 200): lambda client: client.get(CONFIG),
    **refusals("GET", CONFIG, CONFIG, 60),
    ("get", PAYMENTS, 200): listed,
    ("get", PAYMENTS, 400): lambda client: client.get(PAYMENTS, {"status": "x"}),
    **refusals("GET", PAYMENTS, PAYMENTS, 60),
    ("post", VERIFY, 200): verified,
    ("post", VERIFY, 409): same_key,
    ("post", VERIFY, 503): lambda client: ask(client, claim_of(client, is_recorded=False)),
    **refusals("POST", VERIFY, VERIFY, 600),
    **body_refusals("POST", VERIFY, lambda client: VERIFY),
    ("post", SETTLE, 200): lambda client: client.post(SETTLE, UNREADABLE),
    ("post", SETTLE, 202): lambda client: client.post(SETTLE, {"chain": "base"}),
    ("post", SETTLE, 409): without_gas,
    **refusals("POST", SETTLE, SETTLE, 600),
    **body_refusals("POST", SETTLE, lambda client: SETTLE),
    ("post", SETTLE, 400): lambda client: client.post(SETTLE, {"chain": "x"}),
    ("get", SUPPORTED, 200): lambda client: client.get(SUPPORTED),
    **refusals("GET", SUPPORTED, SUPPORTED, 60),
    ("post", OFFERS, 200): offered,
    ("post", OFFERS, 409): offered_another,
    **refusals("POST", OFFERS, OFFERS, 600),
    **body_refusals("POST", OFFERS, lambda client: OFFERS),
}
