"""The guides' programs that verify a webhook's signature take what we send and nothing else."""

import hashlib
import hmac
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.demo.running import two_free_ports
from tests.guides import MALFORMED, RUNNERS, Program, is_installed, running, started
from tests.waiting import wait_until
from webhooks.signatures import new_secret, sign

EVENT: dict[str, Any] = {
    "type": "checkout.completed",
    "livemode": False,
    "checkout_id": "chk_live_1",
    "data": {"references": {"order_ref": "order-1"}, "replaces": None},
}
BODY = json.dumps(EVENT).encode()
# A Go program is compiled first, with what it imports.
START_SECONDS = 400.0


def headers_at(timestamp: int, secret: str, body: bytes = BODY) -> dict[str, str]:
    """The headers of a webhook that is sent at a time."""
    return sign(body, message_id="evt_1", timestamp=timestamp, secrets=[secret])


@contextmanager
def receiver(program: Program, folder: Path, port: int, secret: str) -> Iterator[Path]:
    """The program as a server at a port; yields the file of its output."""
    command, name = RUNNERS[program.language]
    (folder / name).write_text(program.code)
    if program.language == "php":
        command = ["php", "-S", f"127.0.0.1:{port}"]
    settings = {"PORT": str(port), "WEBHOOK_SECRET": secret}
    with started([*command, name], folder, settings) as output:
        yield output


@pytest.mark.parametrize("program", running("docs/guide/webhooks.md", "python", "ts", "php", "go"), ids=str)
def test_a_receiver_takes_a_genuine_webhook_and_refuses_every_other(
    program: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not is_installed(program.language, capsys):
        return
    secret, port = new_secret(), two_free_ports()
    url = f"http://127.0.0.1:{port}/hooks/florin"
    now = int(time.time())
    genuine, old = headers_at(now, secret), headers_at(now - 310, secret)
    with receiver(program, tmp_path, port, secret) as output:
        wait_until(lambda: answers(url), seconds=START_SECONDS)
        assert post(url, genuine) == 204
        assert "checkout.completed order-1" in output.read_text()
        # Late money that was accepted completes another checkout of the same order.
        for name, data in (
            ("order-1", {"references": {"order_ref": "order-1"}, "replaces": "chk_0"}),
            ("chk_0", {"references": {"order_ref": None}, "replaces": "chk_0"}),
            ("chk_live_1", {"references": {"order_ref": None}, "replaces": None}),
        ):
            body = json.dumps(EVENT | {"type": name, "data": data}).encode()
            assert post(url, headers_at(now, secret, body), body) == 204
            assert f"{name} {name}" in output.read_text()
        live = json.dumps(EVENT | {"type": "of.live", "livemode": True}).encode()
        assert post(url, headers_at(now, secret, live), live) == 204
        assert "of.live" not in output.read_text()
        assert post(url, genuine, BODY + b" ") == 400
        assert post(url, headers_at(now, new_secret())) == 400
        assert post(url, old) == 400
        assert post(url, {}) == 400
        for malformed in MALFORMED:
            assert post(url, {b"X-Service-Signature": malformed.encode()}) == 400
        abort(port)
        assert post(url, genuine) == 204


@pytest.mark.parametrize("program", running("docs/guide/webhooks.md", "python", "ts", "php", "go"), ids=str)
def test_a_receiver_without_a_secret_takes_nothing(
    program: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With an empty secret anybody could sign."""
    if not is_installed(program.language, capsys):
        return
    port, now = two_free_ports(), int(time.time())
    url = f"http://127.0.0.1:{port}/hooks/florin"
    signature = hmac.new(b"", b"%d." % now + BODY, hashlib.sha256).hexdigest()
    forged = {"X-Service-Signature": f"t={now},v1={signature}"}
    with receiver(program, tmp_path, port, "") as output:

        def refuses() -> bool:
            return "Set WEBHOOK_SECRET." in output.read_text()

        wait_until(lambda: refuses() or answers(url), seconds=START_SECONDS)
        assert refuses() or post(url, forged) == 500


def answers(url: str) -> bool:
    """Whether a server listens."""
    try:
        httpx.get(url, timeout=5)
    except httpx.TransportError:
        return False
    return True


def abort(port: int) -> None:
    """Begin a webhook, and close the connection before its end."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"POST /hooks/florin HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n{")


def post(url: str, headers: dict[str, str] | dict[bytes, bytes], body: bytes = BODY) -> int:
    """Send a webhook; return the answer's status."""
    return httpx.post(url, content=body, headers=headers, timeout=30).status_code


@pytest.fixture
def handlers() -> dict[str, Callable[..., bool]]:
    """The functions of the guide for those who come from BTCPay Server."""
    [program] = running("docs/guide/from-btcpay.md", "python")
    names: dict[str, Any] = {}
    exec(program.code, names)
    return names


def test_the_handler_of_two_gateways_tells_them_apart(handlers: dict[str, Callable[..., bool]]) -> None:
    secret, now = new_secret(), int(time.time())
    ours = headers_at(now, secret)["X-Service-Signature"]
    theirs = "sha256=" + hmac.new(secret.encode(), BODY, hashlib.sha256).hexdigest()
    old = headers_at(now - 310, secret)["X-Service-Signature"]
    assert handlers["from_florin"](BODY, ours, secret)
    assert handlers["from_btcpay"](BODY, theirs, secret)
    assert not handlers["from_btcpay"](BODY, ours, secret)
    assert not handlers["from_florin"](BODY + b" ", ours, secret)
    assert not handlers["from_florin"](BODY, old, secret)
    assert not handlers["from_btcpay"](BODY + b" ", theirs, secret)
    for malformed in (*MALFORMED, f"t={'9' * 5_000},v1=00"):
        assert not handlers["from_florin"](BODY, malformed, secret)
        assert not handlers["from_btcpay"](BODY, malformed, secret)
