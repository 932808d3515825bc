"""What the Python client tells of a call whose outcome is unknown, and what reports of errors show of its key."""

import pytest

from clients.conformance.server import playing
from florin import Florin, NoAnswerError
from florin.calls import Caller, Terms
from florin.transport import Request, Transport

KEY = "sk_test_1"


def test_a_call_of_unknown_outcome_is_made_again_with_the_key_that_the_client_made() -> None:
    lost = [{"trouble": "close"}] * 2
    with playing([{"answers": [*lost, {"json": {"id": "pay_1"}}]}]) as server:
        florin = Florin(f"{server.url}/s0", KEY, retries=1, wait=0.01)
        with pytest.raises(NoAnswerError) as caught:
            florin.links.create(title="x")
        key = caught.value.idempotency_key
        florin.links.create(title="x", idempotency_key=key)
        florin.close()
        assert key
        assert [sent["headers"]["idempotency-key"] for sent in server.seen[0]] == [key] * 3


def test_no_object_that_a_report_prints_shows_the_key() -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    transport = Transport("http://127.0.0.1:9", seconds=1)
    request = Request("GET", "/", headers, None, repeat=True)
    assert KEY not in repr(request) + repr(Caller(transport, Terms("", headers, 0, 0.1)))
