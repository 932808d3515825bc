"""A payer pays once for a request, never more than it may, and goes on with the proof it has."""

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from florin_x402.evm import WalletError
from florin_x402.payer import Order, PaidButUnservedError, PayerError, PaymentWanted, Proof, message_of, pay_and_retry
from florin_x402.wire import encode
from florin_x402.wsgi import X402Wsgi
from serving import served
from standin import PAY_TO, PAYER, StandIn, Told

TX_HASH = f"0x{7:064x}"


class Purse:
    """A wallet of USDC on Base that only writes down what it would pay."""

    address = PAYER

    def __init__(self, breaks: str = "") -> None:
        self.paid: list[PaymentWanted] = []
        self.signed: list[str] = []
        self._breaks = breaks

    def can_pay(self, wanted: PaymentWanted) -> bool:
        return (wanted.network, wanted.token) == ("base", "USDC")

    def pay(self, wanted: PaymentWanted, *, sent: Callable[[str], None]) -> str:
        if self._breaks == "before":
            raise WalletError("broke")
        self.paid.append(wanted)
        sent(TX_HASH)
        if self._breaks == "after":
            raise WalletError("broke")
        return TX_HASH

    def sign(self, message: str) -> str:
        self.signed.append(message)
        return "0xsigned"


@pytest.fixture
def url(facilitator: StandIn) -> Iterator[str]:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"the resource"]

    prices = {"/report": "0.01", "/reports/*": "0.01", "/dear": "5"}
    wrapped = X402Wsgi(app, facilitator.config(prices))
    with served(wrapped) as address:
        yield address
    wrapped.gate.close()


def order(url: str, **changes: Any) -> Order:
    fields: dict[str, Any] = {"most": Decimal("0.05"), "seconds": 5.0}
    return Order(url, **(fields | changes))


def waiting(reason: str = "not_confirmed", wait: int | None = 0) -> Told:
    told = {"valid": False, "txHash": TX_HASH, "reason": reason, "message": ""}
    return Told(raw=json.dumps(told | {"retryAfter": wait}).encode())


def test_what_is_free_is_not_paid(url: str) -> None:
    purse = Purse()
    got = pay_and_retry(order(f"{url}/free"), purse)
    assert (got.status, got.proof, purse.paid) == (200, None, [])


def test_it_waits_until_the_payment_counts_and_pays_once(url: str, facilitator: StandIn) -> None:
    purse, kept = Purse(), list[Proof]()
    away = Told(status=503, headers=(("Retry-After", "0"),))
    facilitator.tell("/verify", waiting("not_found"), waiting(), away)
    got = pay_and_retry(order(f"{url}/report"), purse, remember=kept.append)
    assert (got.status, got.body) == (200, b"the resource")
    (paid,) = purse.paid
    assert paid == PaymentWanted("base", "USDC", Decimal("0.01"), PAY_TO, "/report")
    assert kept == [kept[0], got.proof]
    assert kept[0].txHash == TX_HASH
    (message,) = purse.signed
    assert message == message_of(kept[0], "/report")
    sent = facilitator.at("/verify")
    assert len(sent) == 4
    assert all(one.body == sent[0].body for one in sent)
    assert sent[0].body["payment"]["signature"] == "0xsigned"


@pytest.mark.parametrize("path", ["/reports/my%20file", "/reports/%C3%BCber", "/reports/a%2520b"])
def test_the_path_is_signed_as_the_server_reads_it(url: str, facilitator: StandIn, path: str) -> None:
    purse = Purse()
    assert pay_and_retry(order(f"{url}{path}"), purse).status == 200
    [asked] = facilitator.at("/verify")
    assert purse.signed == [message_of(Proof(**asked.body["payment"]), asked.body["requirements"]["resource"])]


def test_a_proof_that_was_kept_is_used_in_place_of_another_payment(url: str) -> None:
    purse = Purse()
    proof = Proof(TX_HASH, "base", "USDC", "0.01", PAYER, PAY_TO)
    assert pay_and_retry(order(f"{url}/report"), purse, proof=proof).status == 200
    assert purse.paid == []
    with pytest.raises(PaidButUnservedError, match="already_used") as caught:
        pay_and_retry(order(f"{url}/report"), purse, proof=proof)
    assert caught.value.proof == proof
    assert purse.paid == []


def test_a_price_above_the_limit_is_not_paid(url: str) -> None:
    purse = Purse()
    with pytest.raises(PayerError, match="more than"):
        pay_and_retry(order(f"{url}/dear"), purse)
    assert purse.paid == []


def test_a_wallet_that_breaks_tells_whether_anything_was_sent(url: str) -> None:
    kept: list[Proof] = []
    with pytest.raises(PayerError, match="Nothing was sent"):
        pay_and_retry(order(f"{url}/report"), Purse("before"), remember=kept.append)
    assert kept == []
    with pytest.raises(PaidButUnservedError) as caught:
        pay_and_retry(order(f"{url}/report"), Purse("after"), remember=kept.append)
    assert kept == [caught.value.proof]


def test_a_proof_does_not_travel_in_the_open() -> None:
    purse = Purse()
    with pytest.raises(PayerError, match="plain http"):
        pay_and_retry(order("http://shop.example/report"), purse)
    assert purse.paid == []


OFFER = {"payTo": PAY_TO, "maxAmountRequired": "0.01", "asset": "USDC", "network": "base"}


@pytest.mark.parametrize(
    "header",
    [
        "",
        "%%",
        encode({}),
        encode(OFFER | {"maxAmountRequired": "NaN"}),
        encode(OFFER | {"maxAmountRequired": "-1"}),
        encode(OFFER | {"maxAmountRequired": "0"}),
        encode(OFFER | {"maxAmountRequired": 0.01}),
        encode(OFFER | {"maxAmountRequired": "1e9"}),
        encode(OFFER | {"asset": "USDT"}),
        encode(OFFER | {"network": "ethereum"}),
        encode(OFFER | {"payTo": ["0x"]}),
    ],
)
def test_a_hostile_price_is_not_paid(header: str) -> None:
    def app(environ: Any, start_response: Any) -> list[bytes]:
        start_response("402 Payment Required", [("X-PAYMENT-REQUIRED", header)])
        return [b""]

    purse = Purse()
    with served(app) as url, pytest.raises(PayerError):
        pay_and_retry(order(f"{url}/report"), purse)
    assert purse.paid == []


def test_a_redirect_is_an_answer_and_gets_no_proof() -> None:
    asked: list[str | None] = []

    def app(environ: Any, start_response: Any) -> list[bytes]:
        asked.append(environ.get("HTTP_X_PAYMENT"))
        start_response("302 Found", [("Location", "/elsewhere")])
        return [b""]

    with served(app) as url:
        assert pay_and_retry(order(f"{url}/report"), Purse()).status == 302
    assert asked == [None]
