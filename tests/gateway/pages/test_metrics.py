"""How long payments took to each stage."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.states import Mode
from checkouts.models import Payment
from gateway.pages.metrics import measure
from tests.factories import NOON, make_checkout, make_live_chain, make_merchant, make_transfer
from tests.wallets.factories import make_difference
from wallets.models import AccountCursor, ReceivingWallet, SourceDifference, Transfer
from wallets.states import DifferenceKind, TransferState
from webhooks.models import Delivery, Endpoint, Event
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db


def after(seconds: float) -> dict[str, Any]:
    return {"block_time": NOON, "detected_at": NOON + timedelta(seconds=seconds)}


def scraped(minutes: int = 10) -> str:
    return measure(now=NOON + timedelta(minutes=minutes)).decode()


def series(stage: str, limit: str) -> str:
    return f'florin_payment_seconds_bucket{{chain="base",le="{limit}",stage="{stage}"}}'


def test_a_payment_is_counted_at_each_stage_that_it_reached() -> None:
    make_live_chain("base")
    checkout = make_checkout()
    transfer = make_transfer(
        checkout, **after(3), state=TransferState.CONFIRMED, confirmed_at=NOON + timedelta(seconds=20)
    )
    credited = NOON + timedelta(seconds=40)
    Payment.objects.create(checkout=checkout, transfer=transfer, credited_at=credited)
    owner = {"merchant": checkout.merchant, "mode": checkout.mode}
    event = Event.objects.create(
        **owner,
        type="checkout.paid",
        subject_id=checkout.public_id,
        occurrence="a",
        sequence=1,
        body=b"{}",
        created_at=credited,
    )
    delivery = Delivery.objects.create(
        **owner,
        event=event,
        endpoint=Endpoint.objects.create(**owner, url="https://shop.example/"),
        event_type=event.type,
        next_attempt_at=credited,
        created_at=credited,
    )
    assert 'stage="webhook"' not in scraped()
    delivery.status = DeliveryStatus.DELIVERED
    delivery.finished_at = NOON + timedelta(seconds=90)
    delivery.save()
    told = scraped()
    for stage, below, above in (
        ("seen", "2.0", "5.0"),
        ("final", "10.0", "30.0"),
        ("credited", "30.0", "60.0"),
        ("webhook", "60.0", "120.0"),
    ):
        assert f"{series(stage, below)} 0.0" in told
        assert f"{series(stage, above)} 1.0" in told
        assert f"{series(stage, '+Inf')} 1.0" in told


def test_a_payment_on_the_limit_of_a_bucket_is_inside() -> None:
    make_live_chain("base")
    make_transfer(make_checkout(), **after(5))
    assert f"{series('seen', '5.0')} 1.0" in scraped()
    assert f"{series('seen', '2.0')} 0.0" in scraped()


@pytest.mark.parametrize("change", [{"state": TransferState.ORPHANED}, {"mode": Mode.TEST}])
def test_orphaned_and_test_payments_are_left_out(change: dict[str, str]) -> None:
    make_live_chain("base")
    transfer = make_transfer(make_checkout(), **after(3))
    assert 'stage="seen"' in scraped()
    Transfer.objects.filter(pk=transfer.pk).update(**change)
    assert 'stage="seen"' not in scraped()


def test_payments_from_before_the_last_hour_are_left_out() -> None:
    make_live_chain("base")
    make_transfer(make_checkout(), **after(3))
    assert 'stage="seen"' not in scraped(minutes=61)


def test_a_chain_whose_nodes_repeat_an_old_block_is_silent(settings: Any) -> None:
    # A local chain makes a block only for a payment.
    for network, minutes, seconds in (("local", 60, 0), ("mainnet", 14, 0), ("mainnet", 60, 3_600)):
        settings.CHAIN_NETWORK = network
        make_live_chain("base", head_at=NOON, head_time=NOON - timedelta(minutes=minutes))
        assert f'florin_chain_silent_seconds{{chain="base"}} {seconds}.0' in measure(now=NOON).decode()


def test_differences_nobody_closed_are_counted_by_kind() -> None:
    make_live_chain("base")
    for position in range(3):
        make_difference(DifferenceKind.MISSED, position)
    SourceDifference.objects.filter(position=2).update(closed_at=NOON)
    told = measure(now=NOON).decode()
    assert 'florin_source_differences{chain="base",kind="missed"} 2.0' in told
    assert 'florin_source_differences{chain="base",kind="unknown"} 0.0' in told


def test_the_age_of_the_last_whole_comparison_is_told_once_there_was_one() -> None:
    cursor = make_live_chain("base")
    told = measure(now=NOON).decode()
    assert "florin_reconciled_seconds{" not in told
    assert 'florin_sources_disagree{chain="base"} 0.0' in told
    cursor.reconciled_at = cursor.disagreeing_since = NOON - timedelta(seconds=90)
    cursor.save()
    told = measure(now=NOON).decode()
    assert 'florin_reconciled_seconds{chain="base"} 90.0' in told
    assert 'florin_sources_disagree{chain="base"} 1.0' in told


def test_metrics_exist_only_for_who_knows_the_token(client, settings):
    settings.METRICS_TOKEN = ""
    assert client.get("/metrics").status_code == 404
    settings.METRICS_TOKEN = "open sesame"
    assert client.get("/metrics", headers={"authorization": "Bearer "}).status_code == 404
    make_live_chain("base", head=12, height=10)
    checkout = make_checkout()
    make_transfer(checkout, queued_at=timezone.now() - timedelta(seconds=90))
    text = client.get("/metrics", headers={"authorization": "Bearer open sesame"}).content.decode()
    assert 'florin_chain_blocks_behind{chain="base"} 2.0' in text
    [age] = [line for line in text.splitlines() if line.startswith("florin_transfer_queue_seconds ")]
    assert 90 <= float(age.split()[1]) < 120
    assert "florin_valkey_unavailable_total" in text


def test_a_scrape_of_the_web_process_itself_needs_neither_https_nor_an_allowed_host(
    client: Client, settings: Any
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    settings.ALLOWED_HOSTS = ["pay.example.com"]
    settings.METRICS_TOKEN = "open sesame"
    there = {"host": "10.77.0.11:8001", "authorization": "Bearer open sesame"}
    assert client.get("/metrics", headers=there).status_code == 200
    del there["authorization"]
    assert client.get("/metrics", headers=there).status_code == 404


def test_the_age_of_backups_and_drills_is_told_once_florinctl_noted_them(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path
    assert "florin_backup_age_seconds" not in measure(now=NOON).decode()
    noted = {"backup_at": NOON.timestamp() - 60, "drill_at": NOON.timestamp() - 3_600}
    (tmp_path / "status").mkdir()
    (tmp_path / "status" / "backups.json").write_text(json.dumps(noted))
    told = measure(now=NOON).decode()
    assert "florin_backup_age_seconds 60.0" in told
    assert "florin_restore_drill_age_seconds 3600.0" in told
    assert "florin_wal_age_seconds" not in told


def test_what_watchers_ask_of_nodes_is_told_by_chain() -> None:
    make_live_chain("solana", requests=1_000, requests_minute=60, reads=300)
    told = measure(now=NOON).decode()
    assert 'florin_chain_requests_total{chain="solana"} 1000.0' in told
    assert 'florin_chain_requests_minute{chain="solana"} 60.0' in told
    assert 'florin_chain_reads_total{chain="solana"} 300.0' in told


def test_the_age_of_what_is_known_of_expected_accounts_is_told() -> None:
    for number, (is_expected, seconds, error) in enumerate(
        [(True, 10, ""), (True, 40, ""), (True, 900, "odd"), (False, 50, "")]
    ):
        key = bytes([number]) * 32
        ReceivingWallet.objects.create(
            merchant=make_merchant(),
            chain="solana",
            address=str(number),
            key=key,
            expected_until=NOON if is_expected else None,
        )
        AccountCursor.objects.create(
            chain="solana",
            key=key,
            address=str(number),
            read_through_at=NOON - timedelta(seconds=seconds),
            last_error=error,
        )
    told = measure(now=NOON).decode()
    assert 'florin_account_age_seconds{chain="solana"} 40.0' in told
    assert 'florin_accounts{chain="solana",state="all"} 4.0' in told
    assert 'florin_accounts{chain="solana",state="expected"} 3.0' in told
    assert 'florin_accounts{chain="solana",state="broken"} 1.0' in told
