"""The parts of `manage.py up` that need no services."""

import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from demo.management.commands.demo import Command, chain_environment, forget_real_chains
from demo.nodes.base import LocalChain
from gateway.processes.stack import (
    HOST,
    Stack,
    StackError,
    free_port,
    kept_secrets,
    port_is_free,
    require_free_port,
    until_signalled,
)
from localnet import anvil
from tests.demo.running import two_free_ports


def stack(var: Path, **environment: str) -> Stack:
    said: list[str] = []
    return Stack(var=var, port=two_free_ports(), say=said.append, environment=environment)


def test_secrets_are_made_once_and_are_private(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    made = kept_secrets(path)
    assert kept_secrets(path) == made
    assert path.stat().st_mode & 0o077 == 0
    assert set(made) == {"SECRET_KEY", "ENCRYPTION_KEYS"}


def test_secrets_of_the_environment_come_first(tmp_path: Path) -> None:
    with stack(tmp_path, SECRET_KEY="ours") as made:
        assert made.environment["SECRET_KEY"] == "ours"
        assert made.environment["ENCRYPTION_KEYS"]


def test_a_taken_port_is_refused_with_a_way_out() -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        assert not port_is_free(port)
        assert free_port(port) != port
        with pytest.raises(StackError, match="--port"):
            require_free_port(port)


def test_a_step_that_fails_is_reported_with_its_complaint(tmp_path: Path) -> None:
    with stack(tmp_path) as made:
        fails = [sys.executable, "-c", "raise SystemExit('no room left')"]
        with pytest.raises(StackError, match=r"migrate failed:\nno room left"):
            made.run("migrate", fails)


@pytest.mark.django_db
def test_the_service_is_found_ready_where_everybody_else_is_sent_to_https(
    tmp_path: Path, client: Client, settings: Any
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/api/v1/chains").status_code == 301

    class Behind(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(client.get(self.path).status_code)
            self.end_headers()

    with HTTPServer((HOST, 0), Behind) as server:
        made = Stack(var=tmp_path, port=server.server_port, say=print)
        assert ask_once(server, made)
    assert not made.is_ready()


def ask_once(server: HTTPServer, stack: Stack) -> bool:
    with ThreadPoolExecutor(1) as other:
        answer = other.submit(stack.is_ready)
        server.handle_request()
        return answer.result()


def test_servers_named_by_the_environment_are_used_and_none_started(tmp_path: Path) -> None:
    with stack(tmp_path, DATABASE_URL="postgresql://x", REDIS_URL="redis://x") as made:
        made.start_engines()
        assert made.environment["DATABASE_URL"] == "postgresql://x"
    assert not (tmp_path / "engines").exists()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_leaves_the_block_and_later_ones_do_not_disturb(signum: signal.Signals) -> None:
    steps: list[str] = []
    with until_signalled():
        try:
            os.kill(os.getpid(), signum)
            signal.pause()
        finally:
            os.kill(os.getpid(), signum)
            steps.append("cleaned up")
    assert steps == ["cleaned up"]


def test_signals_mean_what_they_meant_before(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with until_signalled():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_without_the_nodes_program_the_demo_goes_on_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anvil, "package_folder", lambda _: None)
    output = StringIO()
    with stack(tmp_path) as made:
        assert Command(stdout=output).start_nodes(made) is None
    assert "continues in test mode" in output.getvalue()


def test_the_demo_knows_no_chain_but_its_own() -> None:
    environment = {"CHAIN_BASE_RPC_URLS": "https://real.example", "CHAIN_NETWORK": "local"}
    forget_real_chains(environment)
    assert environment == {"CHAIN_NETWORK": "local"}
    local = LocalChain(
        name="base",
        kind="evm",
        rpc_url="http://127.0.0.1:8010",
        node_url="http://127.0.0.1:8010",
        ws_url="ws://127.0.0.1:8010",
        tokens={"USDC": "0x1"},
        funded_address="",
        funded_private_key="",
    )
    assert chain_environment([local]) == {
        "CHAIN_BASE_RPC_URLS": "http://127.0.0.1:8010",
        "CHAIN_BASE_WS_URL": "ws://127.0.0.1:8010",
        "CHAIN_BASE_LARGE_AMOUNT_USD": "0",
        "CHAIN_BASE_REQUESTS_PER_MINUTE": "6000",
        "CHAIN_BASE_TOKEN_USDC": "0x1",
    }


def test_a_child_started_after_the_signal_still_hears_that_it_shall_stop() -> None:
    shows = "import signal; print(signal.getsignal(signal.SIGTERM).name)"
    heard = []
    with until_signalled():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            child = subprocess.run([sys.executable, "-c", shows], capture_output=True, check=True)
            heard.append(child.stdout.strip())
    assert heard == [b"SIG_DFL"]
