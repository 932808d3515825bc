"""Signed receipts: what they say, for whom there is one, and that they stay what they are."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import IntegrityError, transaction

from accounts.brand.facts import with_brand
from accounts.brand.service import change_branding
from accounts.states import Mode
from checkouts.lifecycle.signed_receipts import receipt_status, salted, signed_receipt
from checkouts.models import Checkout, Payment, Receipt
from checkouts.states import CheckoutException, CheckoutStatus
from gateway.core.api.errors import ConflictError, NotFoundError
from gateway.core.signing import SigningKey, claims_of
from tests.checkouts.factories import (
    make_closed,
    make_completed,
    make_expired,
    make_overpaid,
    make_page_checkout,
    make_seen,
    make_underpaid,
    move,
    pay,
)
from tests.checkouts.schema import alter
from tests.checkouts.watcher import DOLLAR, Watcher, attribute
from tests.factories import NOON, USDC_ON_BASE, make_checkout, make_live_chain, make_merchant
from tests.gateway.core.test_signing import keys, verify
from tests.rates.playing import make_quoted
from wallets.models import Transfer
from wallets.states import TransferState
from wallets.transfers.returns import ReturnChange, change_returns, reserve_returns

pytestmark = pytest.mark.django_db

USDC = f"eip155:8453/erc20:{USDC_ON_BASE}"


@pytest.fixture(autouse=True)
def _installation(settings: Any) -> None:
    settings.BASE_URL = "https://pay.example"


def token_of(checkout: Checkout) -> bytes:
    return signed_receipt(with_brand(Checkout.objects.all()).get(pk=checkout.pk), now=NOON)


def said_by(checkout: Checkout) -> dict[str, Any]:
    return claims_of(token_of(checkout))


def status_of(checkout: Checkout) -> str:
    return str(receipt_status(said_by(checkout)["jti"], now=NOON)["status"])


def give_back(units: int) -> None:
    """Refund so much of the only transfer."""
    transfer = Payment.objects.get().transfer
    reserve_returns({transfer.pk: units})
    change_returns([ReturnChange(transfer.pk, returned=units)])


def test_a_receipt_says_who_was_paid_what_where_and_when() -> None:
    checkout = make_completed()
    transfer = Payment.objects.get().transfer
    said = said_by(checkout)
    receipt = Receipt.objects.get()
    assert said == {
        "iss": "did:web:pay.example",
        "jti": receipt.jti,
        "iat": int(NOON.timestamp()),
        "merchant": {"id": checkout.merchant.public_id, "name": "Halden Roasters"},
        "checkout": checkout.public_id,
        "livemode": True,
        "order_ref_sha256": sha256(f"{checkout.code}\nsecret-order".encode()).hexdigest(),
        "metadata_sha256": sha256(f'{checkout.code}\n{{"note": "secret-note"}}'.encode()).hexdigest(),
        "amount": "49.00",
        "currency": "USD",
        "quote": None,
        "received": [
            {
                "asset": USDC,
                "amount": "49.000000",
                "pay_to": transfer.recipient,
                "tx": transfer.tx_hash,
                "position": 0,
                "block": 989,
                "block_hash": transfer.block_hash,
                "block_time": "2026-11-20T12:01:00.000000Z",
                "from": transfer.sender,
            }
        ],
        "paid_at": said["paid_at"],
        "finality": {"eip155:8453": {"rule": "12 confirmations", "head": 1000}},
        "refunded": "0.000000",
        "escrow": None,
        "status_url": f"https://pay.example/receipts/{receipt.jti}",
    }
    assert receipt.jti.startswith("rcp_")
    verify(bytes(receipt.jws), keys()[receipt.kid])


def test_nothing_that_is_the_shops_own_is_in_it() -> None:
    said = str(said_by(make_completed()))
    assert [part for part in ("secret", "buyer.example", "Guji") if part in said] == []


def test_a_short_reference_cannot_be_guessed_from_its_digest() -> None:
    first, second = make_completed(order_ref="7"), make_completed(order_ref="7")
    digests = {said_by(checkout)["order_ref_sha256"] for checkout in (first, second)}
    assert len(digests | {sha256(b"7").hexdigest()}) == 3
    # The salt is in no claim.
    assert first.code not in str(said_by(first))
    assert said_by(first)["order_ref_sha256"] == salted("7", first.code)
    assert said_by(make_completed(order_ref=""))["order_ref_sha256"] is None


def test_a_receipt_has_the_name_that_buyers_read() -> None:
    seller = make_merchant("Halden Roasters GmbH & Co. KG")
    change_branding(seller, changes={"display_name": "Halden"}, now=NOON)
    assert said_by(make_completed(merchant=seller))["merchant"] == {"id": seller.public_id, "name": "Halden"}


def test_every_transfer_is_listed_the_newest_last() -> None:
    checkout = make_underpaid()
    early = pay(checkout, 9 * DOLLAR, confirmations=12, block_time=NOON)
    late = pay(checkout, 20 * DOLLAR, confirmations=12, chain="polygon", block_time=NOON + timedelta(hours=1))
    # Seen and not final: it paid nothing yet.
    pay(checkout, DOLLAR)
    Transfer.objects.filter(pk=late.pk).update(token_address="0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359")
    move(checkout, CheckoutStatus.COMPLETED, exception=CheckoutException.NONE)
    said = said_by(checkout)
    assert [one["amount"] for one in said["received"]] == ["9.000000", "20.000000", "20.000000"]
    assert [one["tx"] for one in said["received"]][::2] == [early.tx_hash, late.tx_hash]
    assert said["received"][2]["asset"].startswith("eip155:137/erc20:0x3c499c")
    assert said["finality"] == {
        "eip155:8453": {"rule": "12 confirmations", "head": 1000},
        "eip155:137": {"rule": "12 confirmations, block finalized", "head": None},
    }


@pytest.mark.parametrize(
    ("chain", "token_address", "asset", "rule"),
    [
        (
            "solana",
            "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
            "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp/token:EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
            "1 confirmation",
        ),
        ("ton", "EQCxE6", "tvm:-239/jetton:EQCxE6", "1 confirmation"),
        ("tron", "TR7NHq", "tron:728126428/trc20:TR7NHq", "20 confirmations, block finalized"),
    ],
)
def test_each_network_and_token_has_its_public_name(chain: str, token_address: str, asset: str, rule: str) -> None:
    checkout = make_page_checkout()
    pay(checkout, confirmations=12, chain=chain, token_address=token_address)
    said = said_by(move(checkout, CheckoutStatus.COMPLETED))
    assert [one["asset"] for one in said["received"]] == [asset]
    assert said["finality"] == {asset.partition("/")[0]: {"rule": rule, "head": None}}


def test_a_price_in_another_currency_has_its_quote() -> None:
    said = said_by(make_quoted(status=CheckoutStatus.COMPLETED))
    assert (said["amount"], said["currency"]) == ("23.00", "EUR")
    assert said["quote"] == {"usd_amount": "25.03", "rate": "1.088260"}


@pytest.mark.parametrize("make", [make_page_checkout, make_seen, make_underpaid, make_closed, make_expired])
def test_what_is_not_completed_has_no_receipt(make: Callable[[], Checkout]) -> None:
    with pytest.raises(ConflictError, match="Only a completed checkout"):
        token_of(make())
    assert not Receipt.objects.exists()


def test_a_payment_in_doubt_has_no_receipt_and_one_that_has_one_says_so() -> None:
    checkout = make_completed()
    jti = said_by(checkout)["jti"]
    make_live_chain("base", halted_reason="a fork", doubted_above=0)
    with pytest.raises(ConflictError, match="in doubt"):
        token_of(checkout)
    assert receipt_status(jti, now=NOON)["status"] == "in_doubt"


def test_without_encryption_keys_there_is_no_new_receipt_and_old_ones_stay(settings: Any) -> None:
    signed, unsigned = make_completed(), make_completed()
    token = token_of(signed)
    settings.ENCRYPTION_KEYS = []
    with pytest.raises(ConflictError, match="no key"):
        token_of(unsigned)
    assert token_of(signed) == token


def test_the_same_checkout_gets_the_same_bytes_for_ever(settings: Any) -> None:
    checkout = make_completed()
    token = token_of(checkout)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.ENCRYPTION_KEYS]
    change_branding(checkout.merchant, changes={"display_name": "Another name"}, now=NOON)
    make_live_chain("base", head=2_000)
    assert signed_receipt(Checkout.objects.get(pk=checkout.pk), now=NOON + timedelta(days=900)) == token
    assert Receipt.objects.count() == 1


def test_a_receipt_of_test_mode_is_signed_by_another_key() -> None:
    live, test = make_completed(), make_completed(mode=Mode.TEST)
    assert (said_by(live)["livemode"], said_by(test)["livemode"]) == (True, False)
    kids = {receipt.checkout_id: receipt.kid for receipt in Receipt.objects.all()}
    assert kids == {live.pk: "did:web:pay.example#r1", test.pk: "did:web:pay.example#t1"}


# What becomes of it.


def test_a_refund_turns_the_status_and_the_next_receipt_replaces_the_first() -> None:
    checkout = make_overpaid()
    first = said_by(checkout)
    assert status_of(checkout) == "paid"
    give_back(5 * DOLLAR)
    second = said_by(checkout)
    assert (second["refunded"], second["replaces"]) == ("5.000000", first["jti"])
    assert second["status_url"] != first["status_url"]
    assert "replaces" not in first
    assert said_by(checkout) == second
    for said in (first, second):
        assert receipt_status(said["jti"], now=NOON)["status"] == "partly_refunded"
    give_back(49 * DOLLAR)
    assert receipt_status(first["jti"], now=NOON)["status"] == "refunded"


def test_a_reorg_turns_the_status_and_a_payment_that_moved_gets_another_receipt() -> None:
    watcher, checkout = Watcher(), make_checkout(amount=Decimal(25))
    transfer = watcher.sees(checkout)
    watcher.confirms(transfer)
    attribute()
    first = said_by(checkout)
    watcher.loses(transfer)
    attribute()
    assert receipt_status(first["jti"], now=NOON)["status"] == "reversed"
    with pytest.raises(ConflictError, match="reversed this payment"):
        token_of(checkout)
    again = watcher.finds_again(transfer)
    watcher.confirms(again)
    attribute()
    second = said_by(checkout)
    assert receipt_status(first["jti"], now=NOON)["status"] == "paid"
    assert second["replaces"] == first["jti"]
    assert second["received"][0]["tx"] == first["received"][0]["tx"]
    assert second["received"][0]["block_hash"] != first["received"][0]["block_hash"]


def test_the_status_tells_a_forged_receipt_with_a_genuine_id_by_its_bytes() -> None:
    checkout = make_completed()
    token = token_of(checkout)
    told = receipt_status(claims_of(token)["jti"], now=NOON)
    assert told == {"status": "paid", "as_of": "2026-11-20T12:00:00.000000Z", "sha256": sha256(token).hexdigest()}


def test_an_unknown_receipt_has_no_status() -> None:
    with pytest.raises(NotFoundError):
        receipt_status("rcp_unknown", now=NOON)


def test_once_its_key_is_withdrawn_a_receipt_is_signed_again_by_the_present_one(settings: Any) -> None:
    checkout = make_completed()
    first = said_by(checkout)
    SigningKey.objects.filter(purpose="receipt").update(until=NOON)
    with pytest.raises(ConflictError, match="no key"):
        token_of(checkout)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.ENCRYPTION_KEYS]
    token = token_of(checkout)
    assert claims_of(token)["replaces"] == first["jti"]
    assert Receipt.objects.get(number=2).kid.endswith("#r2")
    assert token_of(checkout) == token
    assert receipt_status(first["jti"], now=NOON)["status"] == "paid"


def test_a_lost_receipt_is_signed_again_with_another_id() -> None:
    checkout = make_completed()
    first = token_of(checkout)
    alter("ALTER TABLE checkouts_receipt DISABLE TRIGGER receipt_append_only")
    Receipt.objects.all().delete()
    second = token_of(checkout)
    published = keys()
    for token in (first, second):
        verify(token, published["did:web:pay.example#r1"])
    mine = {"jti", "status_url"}
    apart = {name for name, value in claims_of(first).items() if claims_of(second)[name] != value}
    assert apart == mine


def test_money_of_an_orphaned_transfer_is_not_listed() -> None:
    checkout = make_completed()
    pay(checkout, DOLLAR, confirmations=12, state=TransferState.ORPHANED)
    assert [one["amount"] for one in said_by(checkout)["received"]] == ["49.000000"]


def test_a_receipt_never_changes() -> None:
    token_of(make_completed())
    with pytest.raises(IntegrityError, match="receipts are never changed"), transaction.atomic():
        Receipt.objects.update(jws=b"another")
    with pytest.raises(IntegrityError, match="receipts are never changed"), transaction.atomic():
        Receipt.objects.all().delete()


def test_without_the_trigger_a_receipt_would_change() -> None:
    token_of(make_completed())
    alter("DROP TRIGGER receipt_append_only ON checkouts_receipt")
    assert Receipt.objects.update(jws=b"another") == 1
