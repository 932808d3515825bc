"""`manage.py demo_pay` as a person runs it: what it prints, and whom it does not pay."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from demo.management.commands.demo_pay import Command
from demo.settings_file import DemoSettings
from tests.demo.shop.client import CREDENTIALS
from tests.factories import WALLET

NODE = {"kind": "evm", "rpc_url": "http://127.0.0.1:9", "node_url": "http://127.0.0.1:9", "tokens": {"USDC": WALLET}}


@pytest.fixture
def var(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.VAR_DIR = tmp_path
    for name in ("CHAIN_NETWORK", "CHAIN_BASE_NETWORK"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def describe(var: Path, chains: dict[str, dict[str, Any]], **fields: Any) -> None:
    """Write var/demo.json; nobody listens on port 9 of loopback."""
    DemoSettings("http://127.0.0.1:9", "", CREDENTIALS, chains, **fields).write(var / "demo.json")


def refusal() -> str:
    with pytest.raises(CommandError) as caught:
        call_command(Command(), "chk_live_x", "--chain", "base")
    return str(caught.value)


def test_without_a_demo_nothing_is_paid(var: Path) -> None:
    assert "No demo was started" in refusal()


@pytest.mark.parametrize("text", ["", json.dumps({"chains": {"base": NODE}})])
def test_a_settings_file_of_another_version_is_no_demo(var: Path, text: str) -> None:
    (var / "demo.json").write_text(text)
    assert "No demo was started" in refusal()


def test_a_chain_the_demo_does_not_run_is_not_paid_on(var: Path) -> None:
    describe(var, {"polygon": NODE})
    assert "no such chain" in refusal()


@pytest.mark.parametrize("network", ["mainnet", "testnet"])
def test_no_network_but_a_local_one_is_paid_on(var: Path, network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(var, {"base": NODE}, network=network)
    assert "only on local networks" in refusal()
    describe(var, {"base": NODE})
    assert "does not answer" in refusal()
    for setting in ("CHAIN_NETWORK", "CHAIN_BASE_NETWORK"):
        with monkeypatch.context() as given:
            given.setenv(setting, network)
            assert "only on local networks" in refusal()


@pytest.mark.parametrize("name", ["rpc_url", "node_url"])
def test_no_node_of_another_machine_is_spoken_to(var: Path, name: str) -> None:
    describe(var, {"base": NODE | {name: "https://rpc.example"}})
    assert "only nodes on this machine" in refusal()


def test_a_chain_that_does_not_exist_is_refused(var: Path) -> None:
    with pytest.raises(CommandError, match="invalid choice"):
        call_command(Command(), "chk_live_x", "--chain", "bitcoin")
