"""What only real web processes show: several workers, and bytes that are barely HTTP."""

import json
from collections.abc import Iterator

import pytest
from django.conf import settings

from accounts.keys.service import revoke_api_key
from accounts.states import Mode
from gateway.core import valkey
from tests.contract.client import Answer, some_address
from tests.contract.servers import Server, running_servers
from tests.factories import NOON, make_key, make_merchant
from tests.waiting import wait_until
from tests.wallets.watched_wallets import watch

# Their servers take seconds to start: one worker starts them for all of these tests.
pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True), pytest.mark.xdist_group("servers")]


@pytest.fixture(scope="module")
def workers(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    """Two web processes that share nothing but PostgreSQL and Valkey."""
    with running_servers(2, tmp_path_factory.mktemp("web")) as servers:
        yield servers


@pytest.fixture(autouse=True)
def _counted_anew(workers: list[Server]) -> None:
    """Forget what the tests before used up: they all ask from one address, many without a valid key."""
    store = valkey.client()
    for name in store.scan_iter(f"{settings.KEY_PREFIX}:rate:*"):
        store.delete(name)


def ask(server: Server, key: str) -> Answer:
    return server.send("GET", "/checkouts/x", headers={"Authorization": f"Bearer {key}"})


def test_a_revoked_key_is_refused_by_every_worker_within_five_seconds(workers: list[Server]) -> None:
    key, secret = make_key(make_merchant(), Mode.LIVE)
    other, other_secret = make_key(key.merchant, Mode.LIVE)
    assert {ask(server, secret).status for server in workers} == {404}
    revoke_api_key(key, now=NOON)
    wait_until(lambda: all(ask(server, secret).code == "key_revoked" for server in workers), seconds=5)
    for server in workers:
        assert [ask(server, secret).status for _ in range(5)] == [401] * 5
        assert ask(server, other_secret).status == 404
    assert other.revoked_at is None


def test_a_new_key_works_at_once_on_every_worker_even_if_it_was_refused_before(workers: list[Server]) -> None:
    key, secret = make_key(make_merchant(), Mode.LIVE)
    unknown = key.digest
    type(key).objects.filter(pk=key.pk).update(digest=b"\0" * 32)
    assert {ask(server, secret).code for server in workers} == {"key_invalid"}
    type(key).objects.filter(pk=key.pk).update(digest=unknown)
    assert {ask(server, secret).status for server in workers} == {404}


def test_creation_and_its_repeat_may_reach_different_workers(workers: list[Server]) -> None:
    _, secret = make_key(make_merchant(), Mode.TEST)
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    body = json.dumps({"amount": "25", "currency": "USD", "order_ref": "o"}).encode()
    first, second = (server.send("POST", "/checkouts", body, headers) for server in workers)
    assert (first.status, second.status) == (201, 200)
    assert first.body == second.body
    assert int(second.headers["X-RateLimit-Remaining"]) in {58, 59}


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json; a*=nope''x",
        "application/json; a*=x; a*0=y",
        "application/json; charset=hex",
        "application/json; charset=undefined",
        "multipart/form-data; boundary=b; a*=nope''x",
    ],
)
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/chains?a=1", 200),
        ("GET", "/checkouts?a=1", 401),
        ("POST", "/checkouts?a=1", 401),
        ("GET", "/none?a=1", 404),
    ],
)
def test_a_content_type_that_cannot_be_parsed_is_answered_like_any_other(
    workers: list[Server], content_type: str, method: str, path: str, status: int
) -> None:
    address = {"X-Forwarded-For": some_address(), "Content-Type": content_type}
    first, second = (workers[0].send(method, path, headers=address) for _ in range(2))
    assert (first.status, second.status) == (status, status)
    # They are counted. A minute may begin between them.
    before, after = (
        (one.headers["X-RateLimit-Remaining"], one.headers["X-RateLimit-Reset"]) for one in (first, second)
    )
    assert before != after


def test_json_with_a_content_type_that_cannot_be_parsed_is_read(workers: list[Server]) -> None:
    _, secret = make_key(make_merchant(), Mode.TEST)
    body = '{"amount":"25","currency":"USD","metadata":{"a":"東京"}}'.encode()
    for parameters in ("a*=nope''x", "a*=x; a*0=y", "charset=hex", "charset=latin-1"):
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": f"application/json; {parameters}"}
        answer = workers[0].send("POST", "/checkouts?a=1", body, headers)
        assert answer.status == 201
        assert answer.body["metadata"] == {"a": "東京"}


@pytest.mark.parametrize("tag", ["東京".encode(), b"%E6%9D%B1%E4%BA%AC", "東".encode() + b"%E4%BA%AC"])
def test_a_filter_may_be_in_utf_8_without_percent_encoding(workers: list[Server], tag: bytes) -> None:
    merchant = make_merchant()
    _, secret = make_key(merchant, Mode.LIVE)
    there = watch(merchant, tags=["東京"])
    watch(merchant, tags=["京都"])
    lines = (
        b"GET /api/v1/wallets?tag=" + tag + b" HTTP/1.1",
        b"Host: x",
        b"Authorization: Bearer " + secret.encode(),
        b"Connection: close",
    )
    said = workers[0].say(b"\r\n".join(lines) + b"\r\n\r\n", is_all=False)
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.split()[1] == b"200", said
    assert [row["id"] for row in json.loads(body)["data"]] == [there.public_id]


def test_a_query_string_of_more_than_a_thousand_parameters_is_refused(workers: list[Server]) -> None:
    _, secret = make_key(make_merchant(), Mode.LIVE)
    query = "?" + "&".join(["a"] * 1001)
    headers = {"Authorization": f"Bearer {secret}"}
    answer = workers[0].send("GET", f"/checkouts{query}", headers=headers)
    assert answer.refusal == (400, "parameter_invalid", None)
    for page in ("/c/abc", "/account/login/"):
        lines = (f"GET {page}{query} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", "", "")
        said = workers[0].say("\r\n".join(lines).encode(), is_all=False)
        assert said.split()[1] == b"400", page


def test_odd_requests_get_an_answer_and_leave_the_worker_serving(workers: list[Server]) -> None:
    server, _ = workers
    _, secret = make_key(make_merchant(), Mode.TEST)
    json_post = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    body = b'{"amount":"25","currency":"USD"}'

    assert server.send("GET", "/chains", headers={"Host": "evil.example.test"}).status < 500
    assert server.send("HEAD", "/chains").status == 200
    assert server.send("GET", "/checkouts/%00%ff", headers=json_post).status == 404
    assert server.send("GET", "/checkouts?limit=%00", headers=json_post).status == 400
    chunked = server.send("POST", "/checkouts", iter([body[:9], body[9:]]), json_post)
    assert chunked.status == 201
    too_large = server.send("POST", "/checkouts", b" " * (256 * 1024 + 1), json_post)
    assert too_large.code == "body_too_large"
    endless = server.send("POST", "/checkouts", iter([b" " * 65536] * 8), json_post)
    assert endless.code == "body_too_large"
    assert server.send("GET", "/chains").status == 200


@pytest.mark.parametrize(
    ("garbage", "status"),
    [
        (b"GET /api/v1/chains HTTP/1.0\r\n\r\n", 200),
        (b"GET /api/v1/chains HTTP/1.1\r\nConnection: close\r\n\r\n", 200),
        (b"GET /api/v1/checkouts HTTP/1.0\r\nHost: x\r\nAuthorization: \xff\xfe\r\n\r\n", 401),
        (b"\x16\x03\x01\x00\xff", 400),
        (b"POST /api/v1/checkouts HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{", 400),
        (b"POST /api/v1/checkouts HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
    ],
)
def test_bytes_that_are_barely_a_request_get_an_answer_and_leave_the_worker_serving(
    workers: list[Server], garbage: bytes, status: int
) -> None:
    # What can be answered is; what is not whole would be waited for.
    said = workers[0].say(garbage, is_all=status == 400)
    assert said.split(b" ", 2)[1] == str(status).encode(), said
    assert workers[0].send("GET", "/chains").status == 200
