"""The demo's file of settings."""

import json
from pathlib import Path

from demo.settings_file import Credentials, DemoSettings, kept_credentials, read_settings

CREDENTIALS = Credentials(
    owner_email="owner@demo.example",
    owner_password="password",
    live_key="sk_live_example",
    test_key="sk_test_example",
    webhook_secret="whsec_example",
)


def settings(shop_url: str, chains: dict[str, dict[str, object]]) -> DemoSettings:
    # Nobody listens on port 9 of loopback.
    return DemoSettings("http://127.0.0.1:9", shop_url, CREDENTIALS, chains)


def test_the_settings_file_is_private_and_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    assert kept_credentials(path) is None
    written = settings("http://127.0.0.1:8001", {"base": {"chain_id": 8453}})
    written.write(path)
    assert path.stat().st_mode & 0o077 == 0
    assert read_settings(path) == written
    assert kept_credentials(path) == CREDENTIALS
    assert json.loads(path.read_text())["live_key"] == "sk_live_example"
