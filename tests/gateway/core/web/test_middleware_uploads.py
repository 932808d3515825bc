"""What is sent beyond what any page takes is refused, whoever sends it, and is written nowhere."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from gateway.core.web.uploads import MOST_BYTES
from tests.dashboard.people import make_desk

pytestmark = pytest.mark.django_db


def file_of(size: int) -> SimpleUploadedFile:
    return SimpleUploadedFile("logo.png", b"\0" * size)


@pytest.fixture
def folder(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where Django would put a large file."""
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_more_than_any_page_takes_is_refused_before_it_is_known_who_sends_it(folder: Path) -> None:
    sent = {"logo": file_of(MOST_BYTES + 1)}
    client = Client(enforce_csrf_checks=True)
    client.get("/account/login/")
    answer = client.post("/account/login/", sent)
    assert answer.status_code == 400
    assert list(folder.iterdir()) == []


def test_many_files_count_together() -> None:
    desk = make_desk()
    sent = {"logo": file_of(MOST_BYTES // 2 + 1), "more": file_of(MOST_BYTES // 2)}
    assert desk.post("dashboard_branding", sent).status_code == 400


def test_what_a_page_may_judge_reaches_it() -> None:
    answer = make_desk().post("dashboard_branding", {"logo": file_of(MOST_BYTES)})
    assert answer.status_code == 422
