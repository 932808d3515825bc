"""The examples of the OpenAPI document: what the tests of the contract sent and received.

`FLORIN_RECORD_EXAMPLES=1 python -m pytest tests/contract/test_openapi.py tests/contract/test_webhook_examples.py -n 0`
writes them anew. Otherwise each test compares its own with what is written.
"""

import hashlib
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from gateway.pages import api_document
from tests.contract.client import Answer
from wallets.networks import chains

FILE = Path(api_document.__file__).with_name("api_examples.json")
# Ids, deposit addresses, transaction hashes and keys are random: each becomes a fixed one of its kind.
_SECRET = re.compile(r"\bwhsec_[A-Za-z0-9+/]{43}=")
_EXAMPLE_SECRET = "whsec_bm90IGEgc2VjcmV0LCBidXQgYW4gZXhhbXBsZS4uLg=="
# What is signed for a buyer names the checkout's random address, in base64.
_TICKET = re.compile(r"\bfree\.[\w-]+:[\w-]+:[\w-]+")
_EXAMPLE_TICKET = "free.eyJjaGFpbiI6ImJhc2UifQ:1xUNI6:bm90IGEgc2lnbmF0dXJlLCBidXQgYW4gZXhhbXBsZQ"
# What is signed has another signature with each installation's key.
_JWS = re.compile(r"\beyJ[\w-]+\.eyJ[\w-]+\.[\w-]{86}(?![\w-])")
_EXAMPLE_JWS = "eyJhbGciOiJFZERTQSIsImtpZCI6ImRpZDp3ZWI6cGF5LmV4YW1wbGUjcjEifQ.eyJ2ZXJzaW9uIjoxfQ." + "A" * 86
_PAIRING = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}\b(?!-)")
_EXAMPLE_PAIRING = "7K3M-Q9TX"
_RANDOM = re.compile(
    r"(?P<id>/[cprt]/|\b[a-z0-9]{2,6}_(?:live_|test_|sample_)?)(?P<rest>[0-9A-Za-z]{16,})\b"
    r"|\b0x(?P<hex>[0-9a-fA-F]{64}|[0-9a-fA-F]{40})\b"
)


@cache
def _examples(changed_at: float) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def check_example(name: str, answer: Answer, *, with_request: bool) -> None:
    """Compare an answer, and the JSON of its request, with the example; or write them."""
    sent = json.loads(answer.sent) if answer.sent and with_request else None
    body, request = json.loads(_with_fixed_ids(json.dumps([answer.body, sent])))
    examples = _examples(FILE.stat().st_mtime)
    if os.environ.get("FLORIN_RECORD_EXAMPLES"):
        example = examples.setdefault(name, {"answers": {}})
        example["answers"][str(answer.status)] = body
        if request is not None:
            example["request"] = request
        _write(examples)
        return
    assert examples[name]["answers"][str(answer.status)] == body
    assert request is None or examples[name]["request"] == request


def check_event_example(name: str, body: Any) -> None:
    """Compare the body of a webhook with the example, or write it."""
    fixed = json.loads(_with_fixed_ids(json.dumps(body)))
    examples = _examples(FILE.stat().st_mtime)
    if os.environ.get("FLORIN_RECORD_EXAMPLES"):
        _write(examples | {name: {"request": fixed}})
        return
    assert examples[name]["request"] == fixed


def _write(examples: dict[str, Any]) -> None:
    text = json.dumps(examples, indent=1, sort_keys=True, ensure_ascii=False)
    FILE.write_text(text + "\n")


def _with_fixed_ids(text: str) -> str:
    kept = {token.address.lower() for spec in chains().values() for token in spec.tokens.values()}
    seen: dict[str, str] = {}

    def fixed(match: re.Match[str]) -> str:
        found = match.group(0)
        if found.lower() in kept:
            return found
        if found not in seen:
            digest = hashlib.sha256(str(len(seen)).encode()).hexdigest()
            if match["hex"]:
                seen[found] = "0x" + digest[: len(match["hex"])]
            else:
                seen[found] = match["id"] + digest[: len(match["rest"])]
        return seen[found]

    text = _SECRET.sub("a-secret", text.replace(settings.BASE_URL, "https://pay.example.com"))
    text = _PAIRING.sub(_EXAMPLE_PAIRING, _JWS.sub(_EXAMPLE_JWS, _TICKET.sub("a-ticket", text)))
    return _RANDOM.sub(fixed, text).replace("a-secret", _EXAMPLE_SECRET).replace("a-ticket", _EXAMPLE_TICKET)
