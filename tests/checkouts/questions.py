"""Asking, as a buyer does, what became of a transaction; and money that no rule credited."""

import secrets
from typing import Any

from django.test import Client
from django.utils import timezone

from checkouts.models import Checkout, InboxItem
from checkouts.states import InboxReason
from tests.checkouts.factories import ADDRESS, EXACT_OFFERS
from tests.checkouts.page.test_views import words_in
from tests.factories import make_transfer, make_wallet
from wallets.models import Transfer

# Of no transaction anywhere.
UNKNOWN = "0x" + "5a" * 32


def any_hash() -> str:
    return f"0x{secrets.token_hex(32)}"


def ask(client: Client, checkout: Checkout, text: str, **headers: str) -> Any:
    return client.post(f"/c/{checkout.code}/find", {"tx": text}, headers=headers)


def answer(client: Client, checkout: Checkout, text: str) -> str:
    """What the page says after somebody asked."""
    asked = ask(client, checkout, text)
    assert (asked.status_code, asked.content) == (303, b"")
    assert asked["Cache-Control"] == "no-store"
    shown = client.get(asked["Location"])
    assert shown.status_code == 200
    return answer_in(words_in(shown))


def answer_in(text: str) -> str:
    return text.partition('id="answer"')[2].partition("</section>")[0]


def send(checkout: Checkout, units: int = 49_000_000, **values: Any) -> Transfer:
    """A transfer to the address that the checkout's page shows."""
    return make_transfer(checkout, units, **({"recipient": ADDRESS, "block_time": timezone.now()} | values))


def to_inbox(owner: Checkout, reason: InboxReason, transfer: Transfer, *, is_meant: bool = True) -> InboxItem:
    """Let a transfer of the owner's merchant wait for a person, as meant for the owner or for nobody known."""
    transfer.decided_at = timezone.now()
    transfer.save(update_fields=["decided_at"])
    return InboxItem.objects.create(
        merchant_id=owner.merchant_id,
        mode=owner.mode,
        transfer=transfer,
        checkout=owner if is_meant else None,
        reason=reason,
        created_at=timezone.now(),
    )


def in_wallet(checkout: Checkout, **values: Any) -> Transfer:
    """A decided transfer to the merchant's wallet on Tron."""
    address = EXACT_OFFERS["tron"]["wallet"]
    merchant = checkout.merchant
    wallet = merchant.receiving_wallets.filter(chain="tron").first()
    defaults: dict[str, Any] = {
        "chain": "tron",
        "tx_hash": secrets.token_hex(32),
        "position": 0,
        "token": "USDT",
        "token_address": "T",
        "units": 25_000_000,
        "sender": "T",
        "recipient": address,
        "wallet": wallet or make_wallet(merchant, "tron", address),
        "merchant": merchant,
        "mode": "live",
        "block_height": 5,
        "block_hash": "00",
        "block_time": timezone.now(),
        "detected_at": timezone.now(),
        "decided_at": timezone.now(),
    }
    return Transfer.objects.create(**(defaults | values))
