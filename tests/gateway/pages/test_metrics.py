"""What an operator watches of a chain's sources."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gateway.pages.metrics import measure
from tests.factories import NOON, make_checkout, make_live_chain, make_transfer
from tests.wallets.factories import make_difference
from wallets.models import SourceDifference
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
