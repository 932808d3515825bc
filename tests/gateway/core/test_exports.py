"""Exports: however many rows there are."""

import csv
import io
from zipfile import ZipFile

import pytest

from accounts.models import Merchant
from gateway.core import exports
from tests.dashboard.people import Desk
from tests.factories import make_checkout

pytestmark = pytest.mark.django_db


def taken(desk: Desk) -> dict[str, list[list[str]]]:
    """The files of an export by name, each as rows."""
    answer = desk.post("dashboard_download_data")
    assert answer["Content-Type"] == "application/zip"
    archive = ZipFile(io.BytesIO(b"".join(answer.streaming_content)))
    assert archive.testzip() is None
    return {name.removesuffix(".csv"): rows_of(archive, name) for name in archive.namelist()}


def rows_of(archive: ZipFile, name: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(archive.read(name).decode("utf-8-sig"))))


def test_more_rows_than_are_read_at_once_all_come_in_order(
    merchant: Merchant, owner: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "_ROWS_IN_A_QUERY", 2)
    made = [make_checkout(merchant).public_id for _ in range(5)]
    assert [row[0] for row in taken(owner)["checkouts"][1:]] == made
