"""Rows for tests, each with as few defaults as it can do with."""

import secrets
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

import orjson
from django.db import connection
from django.utils import timezone
from factory.declarations import LazyAttribute, LazyFunction, SelfAttribute, SubFactory
from factory.django import DjangoModelFactory

from accounts.keys.service import Powers, create_api_key
from accounts.models import ApiKey, ApiRequest, Merchant, User
from accounts.states import Mode
from checkouts.lifecycle.counts import DayChange, add_to_days, count, day_of
from checkouts.models import Checkout
from checkouts.states import CheckoutStatus
from gateway.core.api.scopes import Scope
from gateway.core.ids import new_code, new_id
from settlements.models import Hold
from wallets.forwarders.addresses import checksum, deposit_key
from wallets.models import ChainCursor, DepositAddress, ReceivingWallet, Transfer
from wallets.networks import chain_spec
from wallets.selectors import forget

Row = TypeVar("Row")

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WALLET = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
DESTINATION = bytes.fromhex(WALLET[2:])
# Nodes nobody calls: a chain needs one configured to be offered.
LOCAL_NODES = {
    "BASE_RPC_URLS": "http://127.0.0.1:1",
    "POLYGON_RPC_URLS": "http://127.0.0.1:2",
    "ETHEREUM_RPC_URLS": "http://127.0.0.1:3",
}
USDC_ON_BASE = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"


class _Rows(DjangoModelFactory[Row]):
    """Rows of a model. What belongs to one is written before it, or by `_create`; nothing is saved twice."""

    class Meta:
        abstract = True
        skip_postgeneration_save = True


class UserFactory(_Rows[User]):
    """A person of a team."""

    class Meta:
        model = User

    email = LazyFunction(lambda: f"{secrets.token_hex(6)}@example.test")
    password = "a password"

    @classmethod
    def _create(cls, model_class: type[User], *args: Any, **values: Any) -> User:
        return model_class.objects.create_user(*args, **values)


class MerchantFactory(_Rows[Merchant]):
    """A merchant with nothing yet."""

    class Meta:
        model = Merchant

    name = "Halden Roasters"


class WalletFactory(_Rows[ReceivingWallet]):
    """A merchant's own wallet on a chain."""

    class Meta:
        model = ReceivingWallet

    merchant = SubFactory(MerchantFactory)
    chain = "base"
    of_one_merchant = LazyAttribute(lambda wallet: chain_spec(wallet.chain).exact_amount_required)
    address = WALLET
    key = LazyAttribute(lambda wallet: chain_spec(wallet.chain).family.address_key(wallet.address))


class CheckoutFactory(_Rows[Checkout]):
    """A live checkout of 25 USD with a deposit address on Base and Polygon, counted as creating it counts it."""

    class Meta:
        model = Checkout

    merchant = SubFactory(MerchantFactory)
    mode = Mode.LIVE
    public_id = LazyAttribute(lambda checkout: new_id(f"chk_{checkout.mode}"))
    code = LazyFunction(new_code)
    status = CheckoutStatus.PENDING
    amount = Decimal("25.00")
    deposit_nonce = LazyFunction(lambda: secrets.token_bytes(32))
    created_at = NOON
    expires_at = LazyAttribute(lambda checkout: checkout.created_at + timedelta(minutes=30))

    paid_at = LazyAttribute(lambda checkout: _paid_at(checkout))
    offers = LazyAttribute(lambda checkout: _offers(checkout.deposit_nonce))

    @classmethod
    def _create(cls, model_class: type[Checkout], *args: Any, **values: Any) -> Checkout:
        checkout: Checkout = super()._create(model_class, *args, **values)
        DepositFactory.create(checkout=checkout)
        if checkout.escrow:
            HoldFactory.create(checkout=checkout)
        _count(checkout)
        return checkout


def _paid_at(checkout: Any) -> datetime | None:
    is_paid = checkout.status == CheckoutStatus.COMPLETED
    return checkout.created_at if is_paid else None


def _offers(nonce: bytes) -> dict[str, Any]:
    address = checksum(deposit_key(DESTINATION, nonce))
    return {
        "base": {"tokens": ["USDC"], "address": address},
        "polygon": {"tokens": ["USDC", "USDT"], "address": address},
    }


class DepositFactory(_Rows[DepositAddress]):
    """The address that a checkout is paid at."""

    class Meta:
        model = DepositAddress
        exclude = ("checkout",)

    checkout = None
    merchant = SelfAttribute("checkout.merchant")
    mode = SelfAttribute("checkout.mode")
    nonce = SelfAttribute("checkout.deposit_nonce")
    destination = DESTINATION
    key = LazyAttribute(lambda deposit: deposit_key(deposit.destination, deposit.nonce))
    watched_until = LazyAttribute(lambda deposit: deposit.checkout.expires_at + timedelta(days=30))


class HoldFactory(_Rows[Hold]):
    """What keeps a checkout's money where it is."""

    class Meta:
        model = Hold
        exclude = ("checkout",)

    checkout = None
    merchant = SelfAttribute("checkout.merchant")
    mode = SelfAttribute("checkout.mode")
    subject_id = SelfAttribute("checkout.public_id")
    nonce = SelfAttribute("checkout.deposit_nonce")
    created_at = SelfAttribute("checkout.created_at")


class TransferFactory(_Rows[Transfer]):
    """A transfer to a deposit address, as the watcher would have queued it."""

    class Meta:
        model = Transfer

    merchant = SelfAttribute("deposit.merchant")
    mode = SelfAttribute("deposit.mode")
    chain = "base"
    tx_hash = LazyFunction(lambda: f"0x{secrets.token_hex(32)}")
    position = 0
    token = "USDC"
    token_address = USDC_ON_BASE
    units = 25_000_000
    sender = LazyFunction(lambda: f"0x{secrets.token_hex(20)}")
    recipient = LazyAttribute(lambda transfer: checksum(bytes(transfer.deposit.key)))
    block_height = 100
    block_hash = "0x" + "ab" * 32
    block_time = detected_at = queued_at = NOON + timedelta(minutes=1)


def make_user(email: str | None = None) -> User:
    """A person of a team."""
    return UserFactory.create(**({"email": email} if email else {}))


def make_merchant(name: str = "Halden Roasters", **overrides: Any) -> Merchant:
    """A merchant with nothing yet."""
    return MerchantFactory.create(name=name, **overrides)


def make_api_request(
    key: ApiKey, path: str = "/api/v1/checkouts", *, status: int = 200, code: str = "", days: int = 0
) -> None:
    """A request of the key that was answered so many days ago, in 1.2 seconds."""
    ApiRequest.objects.create(
        slot=0,
        merchant=key.merchant,
        mode=key.mode,
        key_id=key.public_id,
        request_id=f"req_{path[-8:].replace('/', '')}",
        method="POST",
        path=path,
        status=status,
        code=code,
        milliseconds=1_234,
        asked_at=timezone.now() - timedelta(days=days),
    )


def make_key(merchant: Merchant, mode: Mode = Mode.LIVE, *scopes: str, **powers: Any) -> tuple[ApiKey, str]:
    """An API key and its secret; without scopes it may do everything."""
    made = Powers(scopes or tuple(Scope), **powers)
    return create_api_key(merchant, mode=mode, name="test", powers=made, now=NOON)


def make_wallet(merchant: Merchant, chain: str = "base", address: str = WALLET) -> ReceivingWallet:
    """The merchant's own wallet on a chain."""
    return WalletFactory.create(merchant=merchant, chain=chain, address=address)


def make_live_chain(chain: str, **overrides: Any) -> ChainCursor:
    """A chain that was read to its head just now and has the factory, so that live checkouts offer it.

    `settings.CHAIN_SETTINGS` must name a node for it: `LOCAL_NODES` does.
    """
    make_live_chains([chain], **overrides)
    return ChainCursor.objects.get(chain=chain)


def make_live_chains(chains: Iterable[str], **overrides: Any) -> None:
    """The same of several chains, by one statement."""
    values = {"height": 10, "head": 10, "head_at": timezone.now(), "factory_ok": True} | overrides
    made = [ChainCursor(chain=chain, **values) for chain in chains]
    ChainCursor.objects.bulk_create(made, update_conflicts=True, unique_fields=["chain"], update_fields=[*values])
    forget()


def make_checkout(merchant: Merchant | None = None, **overrides: Any) -> Checkout:
    """A live checkout of 25 USD with a deposit address on Base and Polygon."""
    return CheckoutFactory.create(merchant=merchant or make_merchant(), **overrides)


def _count(checkout: Checkout) -> None:
    """Count a checkout, as creating it through the service does."""
    count(Counter({(checkout.merchant_id, checkout.mode, checkout.status): 1}))
    today = day_of(checkout.created_at)
    add_to_days([DayChange(checkout.merchant_id, checkout.mode, today, made=checkout.pk)])


def make_transfer(checkout: Checkout, units: int = 25_000_000, **overrides: Any) -> Transfer:
    """A transfer to a checkout's address, as the watcher would have queued it."""
    deposit = DepositAddress.objects.get(nonce=checkout.deposit_nonce)
    return TransferFactory.create(deposit=deposit, units=units, **overrides)


def checkout_counts(merchant: Merchant, mode: Mode = Mode.LIVE) -> dict[str, int]:
    """The kept counts behind `total`, by status; zero ones left out."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT status, sum(value)::bigint FROM checkouts_checkoutcount"
            " WHERE merchant_id = %s AND mode = %s GROUP BY status",
            [merchant.pk, mode],
        )
        return {status: int(value) for status, value in cursor if value}


def body_of(event_body: bytes) -> dict[str, Any]:
    """The JSON of an event."""
    parsed: dict[str, Any] = orjson.loads(bytes(event_body))
    return parsed
