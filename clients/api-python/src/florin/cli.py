"""`florin listen` sends a test key's events to a program on this machine; `florin trigger` makes one happen; `florin verify` checks a receipt."""

import argparse
import http.client
import json
import os
import sys
import time
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from florin import receipts
from florin.client import Florin
from florin.errors import ApiError, FlorinError, NoAnswerError
from florin.testing import sign

# The scenario of a test checkout, and how many of its steps are played.
TRIGGERS: Final[dict[str, tuple[str, int]]] = {
    "checkout.completed": ("completed", 1),
    "checkout.processing": ("processing", 1),
    "checkout.underpaid": ("underpaid", 1),
    "checkout.expired": ("expired", 1),
    "checkout.reversed": ("reversed", 2),
    "checkout.restored": ("reorg", 5),
    "checkout.transfer_confirmed": ("completed", 1),
}
# A key may read events sixty times a minute, and other programs of its owner do so too.
_PAUSE_SECONDS: Final = 2.0
_ANSWER_SECONDS: Final = 30.0

_NAMED: Final = "A seller named the resource: the issuer did not check that it is the seller's.\n"
_X402_RECEIPT: Final = f"A receipt of x402: it says that this payer paid for the resource. {_NAMED}"
_X402_OFFER: Final = f"An offer of x402: it says what was asked, and proves no payment. {_NAMED}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    asked = _parser().parse_args(arguments)
    try:
        if asked.run is _verify:
            return int(asked.run(asked))
        with closing(Florin(asked.url, asked.key)) as florin:
            if florin.livemode:
                return _fail("This program takes a test key alone, sk_test_….")
            return int(asked.run(florin, asked))
    except (FlorinError, ValueError) as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return 0


def events_after(florin: Florin, sequence: int) -> Iterator[Any]:
    """Yield the events after a sequence number, oldest first, then wait for more, without end.

    A gateway that does not answer is asked again. Raises ApiError where it refuses.
    """
    while True:
        try:
            for event in florin.events.list(after=sequence):
                sequence = event["sequence"]
                yield event
        except (NoAnswerError, ApiError) as error:
            if isinstance(error, ApiError) and error.status != 429 and error.status < 500:
                raise
            _say(f"Florin: {error} Trying again.")
        time.sleep(_PAUSE_SECONDS)


def forward(event: Any, url: str, secret: str) -> int:
    """POST an event as a webhook is sent; return the status. Raises NoAnswerError and ValueError."""
    body = json.dumps(event, separators=(",", ":"), ensure_ascii=False).encode()
    parts = urlsplit(url)
    kind = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}.get(parts.scheme)
    if kind is None or not parts.hostname:
        raise ValueError("--forward-to is an http or https address.")
    connection = kind(parts.hostname, parts.port, timeout=_ANSWER_SECONDS)
    headers = sign(body, secret, event_id=event["id"]) | {"X-Service-Event": event["type"]}
    try:
        connection.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, headers)
        status: int = connection.getresponse().status
        return status
    except (OSError, http.client.HTTPException) as error:
        raise NoAnswerError(f"no answer: {type(error).__name__}") from error
    finally:
        connection.close()


def _listen(florin: Florin, asked: argparse.Namespace) -> int:
    secret = asked.secret or "whsec_" + b64encode(os.urandom(32)).decode()
    for name in asked.events or ():
        # It refuses a type that does not exist, of which nothing would ever come.
        florin.events.list(type=name, limit=1).page()
    newest = florin.events.list(limit=1).page()["data"]
    _say(f"Signing with {secret}")
    for event in events_after(florin, newest[0]["sequence"] if newest else 0):
        if asked.events and event["type"] not in asked.events:
            continue
        try:
            outcome = str(forward(event, asked.forward_to, secret))
        except NoAnswerError as error:
            outcome = str(error)
        _say(f"{event['type']} {event['id']}: {outcome}")
    return 0


def _trigger(florin: Florin, asked: argparse.Namespace) -> int:
    scenario, steps = TRIGGERS[asked.event]
    made: Any = {"amount": "25.00", "currency": "USD", "test_scenario": scenario}
    checkout = florin.checkouts.create(**made)
    florin.checkouts.advance(checkout["id"], steps=steps)
    written = florin.events.list(checkout_id=checkout["id"], type=asked.event, limit=1).page()["data"]
    if not written:
        return _fail(
            f"{checkout['id']} came to {asked.event}, and no event was written: that type is written only while an endpoint of test mode"
            " has chosen it. Add one in the dashboard under Webhooks, More endpoints, or by POST /webhook_endpoints. Then try again."
        )
    _say(f"{asked.event} {written[0]['id']} of {checkout['id']}")
    return 0


def _verify(asked: argparse.Namespace) -> int:
    """Check a receipt without a network, and print its claims. Of machines' it says which kind it is."""
    try:
        jwks, token = json.loads(asked.jwks.read_bytes()), asked.receipt.read_text()
        is_x402 = receipts.is_x402(token)
        check = receipts.verify_x402 if is_x402 else receipts.verify
        claims = check(token, jwks, livemode=not asked.test)
    except (OSError, ImportError) as error:
        return _fail(str(error))
    if is_x402:
        sys.stderr.write(_X402_RECEIPT if "payer" in claims else _X402_OFFER)
    if is_x402 and "transaction" in claims:
        sys.stderr.write(f"What became of the payment, its issuer says at {receipts.x402_status_path(token)}\n")
    _say(json.dumps(claims, indent=2, ensure_ascii=False))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="florin", description="Try webhooks of test mode, and check signed receipts.")
    parser.add_argument("--url", default=os.environ.get("FLORIN_URL", ""), help="or FLORIN_URL")
    parser.add_argument("--key", default=os.environ.get("FLORIN_KEY", ""), help="a test key, or FLORIN_KEY")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    listen = verbs.add_parser("listen", help="send new events to a program, signed as webhooks are")
    listen.add_argument("--forward-to", required=True, metavar="URL")
    listen.add_argument("--events", type=lambda text: text.split(","), help="only these types, with commas between")
    listen.add_argument("--secret", help="sign with this one instead of a new one")
    listen.set_defaults(run=_listen)
    trigger = verbs.add_parser("trigger", help="make a test checkout that comes to an event; the key may read events")
    trigger.add_argument("event", choices=sorted(TRIGGERS))
    trigger.set_defaults(run=_trigger)
    verify = verbs.add_parser("verify", help="check a signed receipt without a network; needs florin[receipts]")
    verify.add_argument(
        "receipt", type=Path, metavar="FILE", help="receipt.jws, or the signature of an x402 offer or receipt"
    )
    verify.add_argument("--jwks", type=Path, required=True, metavar="FILE", help="the issuer's /.well-known/jwks.json")
    verify.add_argument("--test", action="store_true", help="a receipt of test mode")
    verify.set_defaults(run=_verify)
    return parser


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _fail(text: str) -> int:
    sys.stderr.write(text + "\n")
    return 1
