"""Whether the service answers, and whether it is ready."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db


def test_health_is_plain_and_readiness_asks_the_database(client):
    assert client.get("/healthz").content == b"ok"
    assert client.get("/readyz").json() == {"database": True, "valkey": True}


def test_a_process_that_is_about_to_be_replaced_is_not_ready_and_answers(
    client: Client, settings: Any, tmp_path: Path
) -> None:
    settings.DRAIN_FILE = str(tmp_path / "drain")
    assert client.get("/readyz").status_code == 200
    Path(settings.DRAIN_FILE).touch()
    told = client.get("/readyz")
    assert (told.status_code, told.json()) == (503, {"draining": True})
    assert client.get("/healthz").status_code == 200
