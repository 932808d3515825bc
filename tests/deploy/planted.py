"""Faults for alerts: each is planted where the product looks, in its rows, its files or its requests."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings
from django.db import connection, connections
from django.test import Client

from checkouts.models import Payment
from gateway.core import valkey
from gateway.core.postgres.addresses import REPLICA
from gateway.core.postgres.replica import _Replica
from gateway.core.web import request_times
from gateway.pages import metrics
from mails.models import OutgoingMail
from rates.selectors import forget as forget_rates
from settlements.models import BookCheck, GasAccount, GasTransaction, TroubledForwarder
from settlements.states import Purpose
from tests.factories import NOON, make_checkout, make_live_chain, make_transfer
from tests.wallets.factories import make_deposit, make_difference
from tests.webhooks.factories import make_deliveries, make_endpoint, new_event
from wallets.models import AccountCursor, ReceivingWallet
from webhooks.models import Delivery
from webhooks.outbox.events import publish
from webhooks.states import DeliveryStatus

FAULTS: Final[dict[str, Callable[[pytest.MonkeyPatch], None]]] = {}
"""By the alert that must fire."""

HOUR: Final = timedelta(hours=1)
MINUTE: Final = timedelta(minutes=1)


def fault(plant: Callable[[pytest.MonkeyPatch], None]) -> Callable[[pytest.MonkeyPatch], None]:
    """Add a fault. It has the name of its alert, in small letters with underscores."""
    name = "".join(word.capitalize() for word in plant.__name__.split("_"))
    FAULTS[name] = plant
    return plant


def note_backups(**ages: timedelta) -> None:
    """Note backups as `florinctl` does, an hour old or a minute for WAL unless told otherwise."""
    usual = {"backup_at": HOUR, "wal_at": MINUTE, "drill_at": HOUR}
    folder = Path(settings.VAR_DIR) / "status"
    folder.mkdir(exist_ok=True)
    noted = {name: (NOON - age).timestamp() for name, age in (usual | ages).items()}
    (folder / "backups.json").write_text(json.dumps(noted))


def make_healthy() -> None:
    """An installation with a chain, an account, a gas account, a payment and backups, all well."""
    well = {"head_at": NOON, "head_time": NOON, "reconciled_at": NOON - MINUTE}
    make_live_chain("base", **well)
    make_account()
    make_gas_account()
    BookCheck.objects.create(chain="base", checked_at=NOON)
    pay(seen=2, credited=30, told=40)
    note_backups()
    Client().get("/healthz")


def make_account(age: timedelta = MINUTE) -> None:
    """A wallet on Solana with an expected payment, last read so long ago."""
    key, address = b"k" * 32, "wallet"
    checkout = make_checkout()
    ReceivingWallet.objects.create(
        merchant=checkout.merchant, chain="solana", address=address, key=key, expected_until=NOON
    )
    AccountCursor.objects.create(chain="solana", key=key, address=address, read_through_at=NOON - age)


def make_gas_account() -> GasAccount:
    """A gas account on Base."""
    account, _ = GasAccount.objects.get_or_create(chain="base", address="0xGas", defaults={"balance_wei": 10**18})
    return account


def pay(*, seen: float, credited: float, told: float) -> None:
    """Payments of ten minutes ago: seconds from the block until each was seen, credited, and its webhook answered."""
    block = NOON - 40 * MINUTE
    for _ in range(5):
        checkout = make_checkout()
        transfer = make_transfer(
            checkout, block_time=block, detected_at=block + timedelta(seconds=seen), queued_at=None
        )
        at = block + timedelta(seconds=credited)
        Payment.objects.create(checkout=checkout, transfer=transfer, credited_at=at)
        endpoint = make_endpoint(checkout.merchant)
        event = new_event(checkout.merchant, subject_id=checkout.public_id, url=endpoint.url)
        [row] = publish([event], now=at)
        Delivery.objects.filter(event=row).update(
            status=DeliveryStatus.DELIVERED, is_due=False, finished_at=block + timedelta(seconds=told)
        )


@fault
def transfers_not_decided(_: pytest.MonkeyPatch) -> None:
    make_transfer(make_checkout(), block_time=NOON, queued_at=NOON - 5 * MINUTE)


@fault
def deliveries_late(_: pytest.MonkeyPatch) -> None:
    for delivery in make_deliveries(make_endpoint(make_checkout().merchant)):
        delivery.next_attempt_at = NOON - 10 * MINUTE
        delivery.save()


@fault
def mails_late(_: pytest.MonkeyPatch) -> None:
    OutgoingMail.objects.create(key="a", recipient="a@b.test", due_at=NOON - HOUR)


@fault
def mails_given_up(_: pytest.MonkeyPatch) -> None:
    OutgoingMail.objects.create(key="a", recipient="a@b.test", due_at=None)


@fault
def rate_unavailable(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settings, "PRICE_CURRENCIES", ["EUR"])
    patch.setattr(settings, "RATE_SOURCES", ["kraken", "coinbase"])
    forget_rates()


@fault
def chain_behind(_: pytest.MonkeyPatch) -> None:
    make_live_chain("base", head=500, height=10, head_at=NOON)


@fault
def chain_silent(_: pytest.MonkeyPatch) -> None:
    make_live_chain("base", head_at=NOON - 10 * MINUTE)


@fault
def chain_halted(_: pytest.MonkeyPatch) -> None:
    make_live_chain("base", halted_reason="a fork", head_at=NOON - 10 * MINUTE)


@fault
def wallets_not_read(_: pytest.MonkeyPatch) -> None:
    AccountCursor.objects.update(read_through_at=NOON - HOUR)


@fault
def sources_disagree(_: pytest.MonkeyPatch) -> None:
    make_live_chain("base", head_at=NOON, disagreeing_since=NOON)


@fault
def source_differences(_: pytest.MonkeyPatch) -> None:
    make_difference()


@fault
def sources_not_compared(_: pytest.MonkeyPatch) -> None:
    make_live_chain("base", head_at=NOON, reconciled_at=NOON - 2 * HOUR)


@fault
def gas_transaction_stuck(_: pytest.MonkeyPatch) -> None:
    GasTransaction.objects.create(
        account=make_gas_account(),
        nonce=1,
        purpose=Purpose.SWEEP,
        reference="a",
        to="0x",
        data=b"",
        gas_limit=1,
        most_wei=1,
        created_at=NOON - HOUR,
    )


@fault
def gas_number_doubted(_: pytest.MonkeyPatch) -> None:
    GasAccount.objects.update(doubt_told_at=NOON)


@fault
def forwarders_stuck(_: pytest.MonkeyPatch) -> None:
    TroubledForwarder.objects.create(
        deposit=make_deposit(),
        chain="base",
        token="USDC",
        failures=TroubledForwarder.MOST_FAILURES,
        failed_at=NOON,
        retry_at=NOON,
    )


@fault
def books_differ(_: pytest.MonkeyPatch) -> None:
    BookCheck.objects.update(differences=["a forwarder holds more"])


@fault
def backup_old(_: pytest.MonkeyPatch) -> None:
    note_backups(backup_at=timedelta(days=3))


@fault
def wal_old(_: pytest.MonkeyPatch) -> None:
    note_backups(wal_at=HOUR)


@fault
def restore_drill_old(_: pytest.MonkeyPatch) -> None:
    note_backups(drill_at=timedelta(days=40))


@fault
def valkey_unavailable(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settings, "REDIS_URL", "")
    assert valkey.attempt(lambda client: client.ping()) is None


@fault
def replica_behind(patch: pytest.MonkeyPatch) -> None:
    """Nothing listens where the replica was."""
    gone = connection.copy(REPLICA)
    gone.settings_dict = {**gone.settings_dict, "HOST": "127.0.0.1", "PORT": "1"}
    known = connections._connections  # type: ignore[attr-defined]  # missing in the stubs
    patch.setattr(known, REPLICA, gone, raising=False)
    patch.setattr(settings, "REPLICA_URL", "postgresql://127.0.0.1:1/florin")
    # It has not looked yet.
    patch.setattr(metrics, "replica", _Replica())


@fault
def payments_seen_late(_: pytest.MonkeyPatch) -> None:
    pay(seen=300, credited=310, told=320)


@fault
def payments_credited_late(_: pytest.MonkeyPatch) -> None:
    pay(seen=2, credited=2_000, told=2_001)


@fault
def webhooks_confirmed_late(_: pytest.MonkeyPatch) -> None:
    pay(seen=2, credited=30, told=2_300)


@fault
def server_errors(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settings, "ROOT_URLCONF", "tests.browser.failing_urls")
    client = Client(raise_request_exception=False)
    assert client.get("/fail/500").status_code == 500


@fault
def requests_slow(patch: pytest.MonkeyPatch) -> None:
    clock: Iterator[float] = iter((0.0, 5.0))
    patch.setattr(request_times, "perf_counter", lambda: next(clock))
    assert Client().get("/api/v1/openapi.json").status_code == 200


ALSO: Final[dict[str, set[str]]] = {
    # A payment that is credited late has a late webhook, too.
    "PaymentsCreditedLate": {"WebhooksConfirmedLate"}
}
"""Other alerts that a fault must fire."""

UNPLANTED: Final = {"FlorinDown"}
"""Alerts without a fault here: Prometheus itself writes `up`, and no scrape has it."""
