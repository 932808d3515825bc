"""What an operator watches: chains, their sources and watchers, queues and backups."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gateway.pages.metrics import measure
from tests.factories import NOON, make_checkout, make_live_chain, make_merchant, make_transfer
from tests.wallets.factories import make_difference
from wallets.models import AccountCursor, ReceivingWallet, SourceDifference
from wallets.states import DifferenceKind

pytestmark = pytest.mark.django_db


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
