"""A scrape that has every metric of the product."""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.test import Client

from gateway.core.postgres.replica import replica
from tests.factories import NOON, make_live_chain


def scrape_everything(settings: Any, folder: Path) -> str:
    """Scrape an installation that has a chain, a replica, and backups noted in `folder`."""
    make_live_chain("base")
    settings.VAR_DIR = folder
    noted = dict.fromkeys(("backup_at", "wal_at", "drill_at"), NOON.timestamp())
    (folder / "status").mkdir()
    (folder / "status" / "backups.json").write_text(json.dumps(noted))
    settings.METRICS_TOKEN = "token"
    settings.REPLICA_URL = "postgresql://db2/florin"
    known = {"authorization": "Bearer token"}
    with patch.object(replica, "lag", return_value=0.1):
        return Client().get("/metrics", headers=known).content.decode()
