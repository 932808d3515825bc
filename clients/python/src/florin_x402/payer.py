"""Pays for a request by the specification's protocol: reads the price, sends the tokens, retries with the proof.

Payers of the public standard use its published clients (`x402` on PyPI, `@x402/fetch` on npm); the same servers answer them.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

from florin_x402.transport import Reply, Transport, TransportError, is_loopback
from florin_x402.wire import UnreadableError, decode, decode_json, encode

_FIRST_WAIT: Final = 2.0
_LONGEST_WAIT: Final = 60.0
# Codes for a payment that may become valid in a moment.
_WAITING: Final = frozenset({"not_found", "not_confirmed"})


class PayerError(Exception):
    """The request was not served, and nothing was paid."""


class PaidButUnservedError(Exception):
    """The request may have been paid, but was not served: pass `proof` to `pay_and_retry` to continue."""

    def __init__(self, message: str, *, proof: "Proof", reply: Reply | None = None) -> None:
        super().__init__(message)
        self.proof = proof
        self.reply = reply


@dataclass(frozen=True, slots=True)
class PaymentWanted:
    """What a 402 asks for: `amount` tokens to `pay_to`. `resource` is the path as servers read it, without escapes."""

    network: str
    token: str
    amount: Decimal
    pay_to: str
    resource: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A payment that was made, in strings only. Keep it until the request is served; it can be stored as JSON."""

    txHash: str  # noqa: N815 - the wire's names
    chain: str
    token: str
    amount: str
    payerAddress: str  # noqa: N815
    payTo: str  # noqa: N815
    signature: str = ""

    def header(self) -> str:
        """Return the content of X-PAYMENT."""
        return encode({name: value for name, value in asdict(self).items() if value})


class Wallet(Protocol):
    """A wallet that pays. It maps a token's symbol to its contract and ignores what a server says about that."""

    @property
    def address(self) -> str:
        """The address that pays."""

    def can_pay(self, wanted: PaymentWanted) -> bool:
        """Whether it holds this token on this network."""

    def pay(self, wanted: PaymentWanted, *, sent: Callable[[str], None]) -> str:
        """Send the tokens, wait until they are in a block, and return the transaction's hash.

        `sent` must be called with the hash before the transaction goes out: from then on it counts as paid.
        """

    def sign(self, message: str) -> str:
        """Return a signature over a proof's message, which binds it to this payer; empty if it cannot sign."""


@dataclass(frozen=True, slots=True)
class Served:
    """The response, and the proof that paid for it; None if it was free."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    proof: Proof | None


@dataclass(frozen=True, slots=True)
class Order:
    """A request to be paid for. `most` is the highest price in tokens that may be paid for it."""

    url: str
    most: Decimal
    method: str = "GET"
    headers: Mapping[str, str] | None = None
    body: bytes | None = None
    seconds: float = 120.0


def pay_and_retry(
    order: Order, wallet: Wallet, *, proof: Proof | None = None, remember: Callable[[Proof], None] = lambda proof: None
) -> Served:
    """Make a request, pay once if it costs something, and repeat the same proof until it is served.

    `remember` is called with the proof before the tokens are sent and once more when it is signed. To continue after
    a crash, pass its last value as `proof`. Redirects are not followed. Raises PayerError, or
    PaidButUnservedError once something may have been paid.
    """
    parts = urlsplit(order.url)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise PayerError("Over plain http anybody could take the proof.")
    server = _Server(order)
    if proof is None:
        first = server.ask({})
        if first.status != 402:
            return _served(first, None)
        proof = _paid(_wanted(first, unquote(parts.path) or "/", order), wallet, remember)
    return _repeated(server, proof, seconds=order.seconds)


def message_of(proof: Proof, resource: str) -> str:
    """Return the message that a payer signs: five lines (Florin's docs/guide/x402.md)."""
    return "\n".join(
        (
            "x402 payment proof",
            f"chain: {proof.chain}",
            f"transaction: {proof.txHash}",
            f"payTo: {proof.payTo}",
            f"resource: {resource}",
        )
    )


class _Server:
    """Repeats one request to the resource server."""

    def __init__(self, order: Order) -> None:
        parts = urlsplit(order.url)
        self._order = order
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            origin = f"{parts.scheme}://{parts.netloc}"
            self._transport = Transport(origin, seconds=order.seconds)
        except ValueError as error:
            raise PayerError(str(error)) from None

    def ask(self, headers: Mapping[str, str]) -> Reply:
        """Make the request. Raises PayerError where no answer came."""
        order = self._order
        every = dict(order.headers or {}) | dict(headers)
        try:
            return self._transport.exchange(order.method, self._path, headers=every, body=order.body)
        except TransportError as error:
            raise PayerError(f"The server does not answer: {error}.") from error
        finally:
            # On a keep-alive connection that was closed meanwhile, the proof would be sent twice.
            self._transport.close()


def _wanted(reply: Reply, resource: str, order: Order) -> PaymentWanted:
    """Parse the price of a 402. Raises PayerError if it is invalid or too high."""
    try:
        told = decode(reply.headers.get("x-payment-required", ""))
        texts = [told[name] for name in ("network", "asset", "maxAmountRequired", "payTo")]
        if not all(isinstance(text, str) and text for text in texts):
            raise PayerError("The 402 names no price that can be read.")
        network, token, amount, pay_to = texts
        price = Decimal(amount)
    except (UnreadableError, KeyError, InvalidOperation):
        raise PayerError("The 402 names no price that can be read.") from None
    if not price.is_finite() or not 0 < price <= order.most:
        raise PayerError(f"It costs {amount} {token}, more than {order.most}.")
    return PaymentWanted(network, token, price, pay_to, resource)


def _paid(wanted: PaymentWanted, wallet: Wallet, remember: Callable[[Proof], None]) -> Proof:
    if not wallet.can_pay(wanted):
        raise PayerError(f"The wallet holds no {wanted.token} on {wanted.network}.")
    sent: list[Proof] = []

    def note(tx_hash: str) -> None:
        sent.append(_proof(wanted, wallet.address, tx_hash))
        remember(sent[-1])

    try:
        note_hash = wallet.pay(wanted, sent=note)
        proof = _proof(wanted, wallet.address, note_hash)
        signature = wallet.sign(message_of(proof, wanted.resource))
    except Exception as error:
        if not sent:
            raise PayerError(f"Nothing was sent: {error}") from error
        raise PaidButUnservedError(str(error), proof=sent[-1]) from error
    signed = Proof(**(asdict(proof) | {"signature": signature}))
    remember(signed)
    return signed


def _proof(wanted: PaymentWanted, payer: str, tx_hash: str) -> Proof:
    return Proof(
        txHash=tx_hash,
        chain=wanted.network,
        token=wanted.token,
        amount=format(wanted.amount, "f"),
        payerAddress=payer,
        payTo=wanted.pay_to,
    )


def _repeated(server: _Server, proof: Proof, *, seconds: float) -> Served:
    """Retry with the proof until the request is served or finally refused."""
    deadline = time.monotonic() + seconds
    while True:
        reply, wait, why = _tried(server, proof)
        if reply is not None and not why:
            return _served(reply, proof)
        if time.monotonic() + wait > deadline:
            raise PaidButUnservedError(why, proof=proof, reply=reply)
        time.sleep(wait)


def _tried(server: _Server, proof: Proof) -> tuple[Reply | None, float, str]:
    try:
        reply = server.ask({"X-PAYMENT": proof.header()})
    except PayerError as error:
        return None, _FIRST_WAIT, str(error)
    return reply, *_wait(reply)


def _wait(reply: Reply) -> tuple[float, str]:
    """Return the seconds until the next try, and the reason; infinity for never, no reason if it was served."""
    if reply.status not in {402, 503}:
        return 0.0, ""
    try:
        told = decode_json(reply.body)
    except UnreadableError:
        told = {}
    reason, error = str(told.get("reason") or ""), str(told.get("error") or "refused")
    late = reply.headers.get("retry-after", "")
    if reply.status == 402 and reason not in _WAITING and not late:
        return math.inf, f"{reason}: {error}"
    is_number = late.isascii() and late.isdigit() and len(late) < 6
    wait = float(late) if is_number else _FIRST_WAIT
    return min(max(wait, 0.1), _LONGEST_WAIT), f"{reason}: {error}"


def _served(reply: Reply, proof: Proof | None) -> Served:
    return Served(reply.status, reply.headers, reply.body, proof)
