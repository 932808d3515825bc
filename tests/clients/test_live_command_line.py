"""`florin trigger` and `florin listen` against a real Florin in test mode, and a program that is told."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.states import Mode
from florin import Florin, cli, webhooks
from tests.contract.client import client_of
from tests.guides import started
from tests.tree import ROOT
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

CHOSEN = ["checkout.processing", "checkout.transfer_confirmed"]
PROGRAM = [sys.executable, "-c", "import sys; from florin.cli import main; sys.exit(main())"]


class Hook(HTTPServer):
    """A program on this machine that keeps what it is sent, and answers 204."""

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.got: list[tuple[bytes, dict[str, str]]] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}/hook?shop=1"


class _Handler(BaseHTTPRequestHandler):
    server: Hook

    def log_message(self, *_about: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((body, {"path": self.path, **dict(self.headers)}))
        self.send_response(204)
        self.end_headers()


@contextmanager
def hooked(port: int = 0) -> Iterator[Hook]:
    """Run the program in a thread."""
    with Hook(port) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def reached(live_server: LiveServer) -> list[str]:
    """The program's first arguments: where Florin is, and a key of test mode."""
    key = client_of(mode=Mode.TEST).key
    assert key
    return ["--url", live_server.url, "--key", key]


def chooses(reached: list[str]) -> None:
    """Have an endpoint of test mode choose the events that only chosen endpoints get."""
    florin = Florin(reached[1], reached[3])
    made: Any = {"url": "https://desk.example/florin", "name": "desk", "events": CHOSEN, "enabled": False}
    florin.webhook_endpoints.create(**made)
    florin.close()


def test_each_trigger_makes_its_event_happen(reached: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    chooses(reached)
    florin = Florin(reached[1], reached[3])
    for name in cli.TRIGGERS:
        assert cli.main([*reached, "trigger", name]) == 0, capsys.readouterr().err
        said, event, _, checkout = capsys.readouterr().out.split()
        found = florin.events.get(event)
        assert (said, found["type"], found["checkout_id"]) == (name, name, checkout)
    florin.close()


@pytest.mark.parametrize("name", CHOSEN)
def test_a_trigger_of_a_type_that_no_endpoint_chose_says_so(
    reached: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*reached, "trigger", name]) == 1
    assert "More endpoints" in capsys.readouterr().err
    chooses(reached)
    assert cli.main([*reached, "trigger", name]) == 0


def test_what_is_listened_to_begins_after_the_newest_event_and_outlives_a_receiver_that_is_down(
    reached: list[str], tmp_path: Path
) -> None:
    assert cli.main([*reached, "trigger", "checkout.completed"]) == 0
    with hooked() as hook:
        port = hook.server_port
        wanted = ["--events", "checkout.completed,checkout.reversed"]
        command = [*PROGRAM, *reached, "listen", "--forward-to", hook.url, *wanted]
        source = {"PYTHONPATH": str(ROOT / "clients" / "api-python" / "src")}
        with started(command, tmp_path, source) as output:
            wait_until(lambda: "Signing with " in output.read_text())
            secret = output.read_text().split()[-1]
            for name in ("checkout.underpaid", "checkout.completed"):
                assert cli.main([*reached, "trigger", name]) == 0
            wait_until(lambda: ": 204\n" in output.read_text())
            hook.shutdown()
            hook.server_close()
            assert cli.main([*reached, "trigger", "checkout.reversed"]) == 0
            wait_until(lambda: "checkout.reversed" in output.read_text())
            with hooked(port) as again:
                assert cli.main([*reached, "trigger", "checkout.completed"]) == 0
                wait_until(lambda: again.got)
                wait_until(lambda: output.read_text().count(": 204\n") >= 2)
            told = output.read_text().splitlines()
    [(body, headers)] = hook.got
    event = webhooks.construct(body, headers, secret, livemode=False)
    assert headers["path"] == "/hook?shop=1"
    # Coming to reversed passes completed, which did not arrive either.
    outcomes = [(line.split()[0], line.partition(": ")[2]) for line in told[1:]]
    down = "no answer: ConnectionRefusedError"
    assert outcomes == [
        ("checkout.completed", "204"),
        ("checkout.completed", down),
        ("checkout.reversed", down),
        ("checkout.completed", "204"),
    ]
    assert told[1] == f"checkout.completed {event['id']}: 204"


def test_a_type_that_does_not_exist_is_refused_before_anything_is_waited_for(
    reached: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["listen", "--forward-to", "http://127.0.0.1:9/", "--events", "checkout.complete"]
    assert cli.main([*reached, *asked]) == 1
    told = capsys.readouterr()
    assert (told.out, "type" in told.err) == ("", True)
