"""`florin trigger` makes an event happen, and `florin listen` hands events on, signed so that the client's verifier takes them."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import islice
from threading import Thread
from typing import Any

import pytest

from clients.conformance.server import playing
from florin import ApiError, Florin, cli, webhooks

KEY = "sk_test_1"
SECRET = "whsec_" + "A" * 43 + "="
EVENTS = [
    {"id": f"evt_{number}", "type": "checkout.completed", "sequence": number, "livemode": False} for number in (8, 9)
]


def test_a_trigger_creates_a_checkout_and_plays_its_steps(capsys: pytest.CaptureFixture[str]) -> None:
    made = {"json": {"id": "chk_test_1"}}
    with playing([{"answers": [made, made, {"json": {"data": EVENTS[:1]}}]}]) as server:
        told = cli.main(["--url", f"{server.url}/s0", "--key", KEY, "trigger", "checkout.reversed"])
        created, advanced, looked = server.seen[0]
    assert told == 0
    assert json.loads(created["body"])["test_scenario"] == "reversed"
    assert (advanced["path"], json.loads(advanced["body"])) == ("/test/checkouts/chk_test_1/advance", {"steps": 2})
    assert looked["query"] == {"checkout_id": "chk_test_1", "type": "checkout.reversed", "limit": "1"}
    assert capsys.readouterr().out == "checkout.reversed evt_8 of chk_test_1\n"


def test_a_trigger_whose_event_was_not_written_says_what_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    made = {"json": {"id": "chk_test_1"}}
    with playing([{"answers": [made, made, {"json": {"data": []}}]}]) as server:
        assert cli.main(["--url", f"{server.url}/s0", "--key", KEY, "trigger", "checkout.processing"]) == 1
    told = capsys.readouterr()
    assert (told.out, "an endpoint of test mode has chosen it" in told.err) == ("", True)


def test_a_live_key_is_refused_before_anything_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    with playing([{}]) as server:
        asked = ["--url", f"{server.url}/s0", "--key", "sk_live_1", "trigger", "checkout.completed"]
        assert cli.main(asked) == 1
        assert server.seen == [[]]
    assert "test key" in capsys.readouterr().err


def test_events_come_in_order_and_from_where_the_last_ended() -> None:
    page = {"json": {"data": EVENTS, "limit": 100, "offset": 0}}
    with playing([{"answers": [page]}]) as server:
        florin = Florin(f"{server.url}/s0", KEY)
        assert list(islice(cli.events_after(florin, 7), 2)) == EVENTS
        florin.close()
        assert server.seen[0][0]["query"]["after"] == "7"


def test_a_gateway_that_does_not_answer_for_a_while_ends_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "_PAUSE_SECONDS", 0.01)
    page = {"json": {"data": EVENTS, "limit": 100, "offset": 0}}
    with playing([{"answers": [{"trouble": "close"}, {"status": 503, "json": {}}, page]}]) as server:
        florin = Florin(f"{server.url}/s0", KEY, retries=0)
        assert list(islice(cli.events_after(florin, 7), 2)) == EVENTS
        florin.close()
        assert [sent["query"]["after"] for sent in server.seen[0]] == ["7"] * 3
    assert capsys.readouterr().out.count("Trying again.") == 2


def test_a_key_that_may_not_read_events_ends_it() -> None:
    refused = {"status": 403, "json": {"error": {"code": "scope_insufficient", "required_scope": "events:read"}}}
    with playing([{"answers": [refused]}]) as server:
        florin = Florin(f"{server.url}/s0", KEY)
        with pytest.raises(ApiError, match="scope_insufficient"):
            next(cli.events_after(florin, 7))
        florin.close()
        assert len(server.seen[0]) == 1


def test_what_is_handed_on_is_signed_as_a_webhook() -> None:
    got: list[Any] = []

    class Hook(BaseHTTPRequestHandler):
        def log_message(self, *_about: Any) -> None:
            pass

        def do_POST(self) -> None:
            got.append((self.rfile.read(int(self.headers["Content-Length"])), dict(self.headers)))
            self.send_response(204)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        assert cli.forward(EVENTS[0], f"http://127.0.0.1:{server.server_port}/hook", SECRET) == 204
        thread.join()
    [(body, headers)] = got
    assert webhooks.construct(body, headers, SECRET, livemode=False) == EVENTS[0]
