"""What an operator watches of a chain's sources."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway.pages.metrics import measure
from tests.factories import NOON, make_live_chain
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


def test_the_age_of_backups_and_drills_is_told_once_florinctl_noted_them(
    settings: Any, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    assert "florin_backup_age_seconds" not in measure(now=NOON).decode()
    noted = {"backup_at": NOON.timestamp() - 60, "drill_at": NOON.timestamp() - 3_600}
    (tmp_path / "backups.json").write_text(json.dumps(noted))
    told = measure(now=NOON).decode()
    assert "florin_backup_age_seconds 60.0" in told
    assert "florin_restore_drill_age_seconds 3600.0" in told
    assert "florin_wal_age_seconds" not in told
