"""Proofs of payment, as payers send them."""

import itertools
import re
from datetime import datetime
from typing import Any

from florin_x402.mpp.nonces import nonces_of
from florin_x402.wire import decode_url, encode, encode_url
from shops import Reply
from standin import PAY_TO, PAYER, USDC

SOURCE = f"did:pkh:eip155:8453:{PAYER}"

_numbers = itertools.count(1)


def payment(**changes: Any) -> dict[str, Any]:
    """A proof by hash, of another transaction each time."""
    return {
        "txHash": f"0x{next(_numbers):064x}",
        "chain": "base",
        "token": "USDC",
        "amount": "0.01",
        "payerAddress": PAYER,
        "payTo": PAY_TO,
    } | changes


def by_hash(**changes: Any) -> dict[str, str]:
    """The header of the specification's protocol."""
    return {"X_PAYMENT": encode(payment(**changes))}


def first_version(**changes: Any) -> dict[str, str]:
    """The header of the standard's first version."""
    told = {"x402Version": 1, "scheme": "exact", "network": "base"}
    return {"X_PAYMENT": encode(told | {"payload": authorization()} | changes)}


def second_version(units: str = "10000", **changes: Any) -> dict[str, str]:
    """The header of the standard's second version."""
    accepted = {
        "scheme": "exact",
        "network": "eip155:8453",
        "amount": units,
        "asset": USDC.lower(),
        "payTo": PAY_TO,
        "maxTimeoutSeconds": 60,
        "extra": {},
    }
    told = {"x402Version": 2, "accepted": accepted, "payload": authorization()}
    return {"PAYMENT_SIGNATURE": encode(told | changes)}


def identified(payment_id: object, units: str = "10000", **changes: Any) -> dict[str, str]:
    """The same with a payment identifier, as published clients echo the extension."""
    extension = {"info": {"required": False, "id": payment_id}, "schema": {}}
    return second_version(units, extensions={"payment-identifier": extension}, **changes)


def authorization() -> dict[str, str]:
    """What the stand-in takes for a signed authorisation."""
    return {"nonce": f"0x{next(_numbers):064x}"}


def challenges_in(reply: Reply) -> list[dict[str, str]]:
    """The challenges of MPP in a 402."""
    header = reply.headers["www-authenticate"]
    return [dict(re.findall(r'(\w+)="([^"]*)"', part)) for part in re.split(r"(?:^|, )Payment ", header) if part]


def transfer_for(challenge: dict[str, str], **changes: Any) -> dict[str, Any]:
    """What a payer of MPP signs for a challenge, as npm mppx does."""
    asks = decode_url(challenge["request"])
    until = int(datetime.fromisoformat(challenge["expires"]).timestamp())
    nonces = sorted(nonces_of(challenge["id"], challenge["realm"]))
    told = {"type": "authorization", "from": PAYER, "to": asks["recipient"], "value": asks["amount"]}
    told |= {"validAfter": "0", "validBefore": str(until), "nonce": nonces[0], "signature": "0x" + "1b" * 65}
    return told | changes


def transaction(**changes: Any) -> dict[str, Any]:
    """What a payer of MPP shows that sent its own transaction, another one each time."""
    return {"type": "hash", "hash": f"0x{next(_numbers):064x}"} | changes


def credential(
    challenge: dict[str, str], payload: dict[str, Any], *, source: str = SOURCE, header: str = "AUTHORIZATION"
) -> dict[str, str]:
    """The header of a payer of MPP."""
    told = {"challenge": challenge, "payload": payload} | ({"source": source} if source else {})
    return {header: f"Payment {encode_url(told)}"}
