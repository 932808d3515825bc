"""The demo's file of settings."""

import json
from pathlib import Path

from demo.settings_file import kept_credentials, read_settings
from tests.demo.shop.client import CREDENTIALS, settings


def test_the_settings_file_is_private_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    assert kept_credentials(path) is None
    written = settings("http://127.0.0.1:8001", {"base": {"chain_id": 8453}})
    written.write(path)
    assert path.stat().st_mode & 0o077 == 0
    assert read_settings(path) == written
    assert kept_credentials(path) == CREDENTIALS
    assert json.loads(path.read_text())["live_key"] == "sk_live_example"
