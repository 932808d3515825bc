"""What only real web processes show: several workers, and bytes that are barely HTTP."""

import json
from collections.abc import Iterator

import pytest

from accounts.keys.service import revoke_api_key
from accounts.states import Mode
from tests.contract.client import Answer
from tests.contract.servers import Server, running_servers
from tests.factories import NOON, make_key, make_merchant
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def workers(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Server]]:
    """Two web processes that share nothing but PostgreSQL and Valkey."""
    with running_servers(2, tmp_path_factory.mktemp("web")) as servers:
        yield servers


def ask(server: Server, key: str) -> Answer:
    return server.send(
        "GET", "/checkouts/x", headers={"Authorization": f"Bearer {key}"}
    )


def test_a_revoked_key_is_refused_by_every_worker_within_five_seconds(
    workers: list[Server],
) -> None:
    key, secret = make_key(make_merchant(), Mode.LIVE)
    other, other_secret = make_key(key.merchant, Mode.LIVE)
    assert {ask(server, secret).status for server in workers} == {404}
    revoke_api_key(key, now=NOON)
    wait_until(
        lambda: all(ask(server, secret).code == "key_revoked" for server in workers),
        seconds=5,
    )
    for server in workers:
        assert [ask(server, secret).status for _ in range(5)] == [401] * 5
        assert ask(server, other_secret).status == 404
    assert other.revoked_at is None


def test_a_new_key_works_at_once_on_every_worker_even_if_it_was_refused_before(
    workers: list[Server],
) -> None:
    key, secret = make_key(make_merchant(), Mode.LIVE)
    unknown = key.digest
    type(key).objects.filter(pk=key.pk).update(digest=b"\0" * 32)
    assert {ask(server, secret).code for server in workers} == {"key_invalid"}
    type(key).objects.filter(pk=key.pk).update(digest=unknown)
    assert {ask(server, secret).status for server in workers} == {404}


def test_creation_and_its_repeat_may_reach_different_workers(
    workers: list[Server],
) -> None:
    _, secret = make_key(make_merchant(), Mode.TEST)
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    body = json.dumps({"amount": "25", "currency": "USD", "order_ref": "o"}).encode()
    first, second = (
        server.send("POST", "/checkouts", body, headers) for server in workers
    )
    assert (first.status, second.status) == (201, 200)
    assert first.body == second.body
    assert int(second.headers["X-RateLimit-Remaining"]) in {58, 59}


def test_odd_requests_get_an_answer_and_leave_the_worker_serving(
    workers: list[Server],
) -> None:
    server, _ = workers
    _, secret = make_key(make_merchant(), Mode.TEST)
    json_post = {
        "Authorization": f"Bearer {secret}",
        "Content-Type": "application/json",
    }
    body = b'{"amount":"25","currency":"USD"}'

    assert (
        server.send("GET", "/chains", headers={"Host": "evil.example.test"}).status
        < 500
    )
    assert server.send("HEAD", "/chains").status == 200
    assert server.send("GET", "/checkouts/%00%ff", headers=json_post).status == 404
    assert server.send("GET", "/checkouts?limit=%00", headers=json_post).status == 400
    chunked = server.send("POST", "/checkouts", iter([body[:9], body[9:]]), json_post)
    assert chunked.status == 201
    too_large = server.send("POST", "/checkouts", b" " * (256 * 1024 + 1), json_post)
    assert too_large.code == "body_too_large"
    endless = server.send("POST", "/checkouts", iter([b" " * 65536] * 8), json_post)
    assert endless.code == "body_too_large"
    for garbage in (
        b"GET /api/v1/chains HTTP/1.0\r\n\r\n",
        b"GET /api/v1/chains HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x00\xff",
        b"POST /api/v1/checkouts HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{",
        b"POST /api/v1/checkouts HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET /api/v1/chains HTTP/1.1\r\nHost: x\r\nAuthorization: \xff\xfe\r\n\r\n",
    ):
        assert b" 500 " not in server.say(garbage).partition(b"\r\n")[0], garbage
    assert server.send("GET", "/chains").status == 200
