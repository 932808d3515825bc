"""A POST with an Idempotency-Key is carried out once; for 24 hours, a repeat gets the first answer."""

import json
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.keys import idempotency
from accounts.keys.idempotency import KEPT, forget_old_keys
from accounts.models import IdempotencyKey
from accounts.states import Mode
from checkouts import api
from checkouts.models import Checkout
from links.models import PaymentLink
from tests.contract.client import PREFIX, Answer, ApiClient, client_of
from tests.contract.scope_tables import guarded
from tests.factories import make_key
from tests.routes import path_of

pytestmark = pytest.mark.django_db

# Its answers are kept by the statement that uses a payment up.
OWN_WAY = "x402/verify"
# Its answer has a code that is stored nowhere.
UNKEPT = "terminals/<str:terminal_id>/pair"
POSTS = [route for method, route in guarded() if method == "POST"]
BODY = {"amount": "25.00", "currency": "USD", "metadata": {"a": 1, "b": 2}}
KEPT_BODY = b'{"kept": "as it was sent"}'


def post(client: ApiClient, body: Any = BODY, key: str = "k", path: str = "/checkouts") -> Answer:
    return client.send("POST", path, body, HTTP_IDEMPOTENCY_KEY=key)


def is_replay(answer: Answer) -> bool:
    return answer.headers.get("Idempotent-Replayed") == "true"


def test_a_repeat_gets_the_bytes_of_the_first_answer_and_creates_nothing(tester: ApiClient) -> None:
    first, again = post(tester), post(tester)
    assert (first.status, again.status) == (201, 201)
    assert again.raw == first.raw
    assert (is_replay(first), is_replay(again)) == (False, True)
    assert "Idempotent-Replayed" not in first.headers
    assert Checkout.objects.count() == 1
    # It is a request of its own otherwise.
    assert int(again.headers["X-RateLimit-Remaining"]) == int(first.headers["X-RateLimit-Remaining"]) - 1
    assert again.headers["X-Request-Id"] != first.headers["X-Request-Id"]


def test_the_answer_stays_the_first_when_the_object_has_moved_on(tester: ApiClient) -> None:
    first = post(tester)
    assert tester.post(f"/checkouts/{first.body['id']}/cancel", b"").body["status"] == "expired"
    assert post(tester).body["status"] == "pending"


def test_a_body_is_the_same_in_another_order_and_with_other_blanks(tester: ApiClient) -> None:
    first = post(tester)
    written = json.dumps(dict(reversed(BODY.items())) | {"metadata": {"b": 2, "a": 1}}, indent=3).encode()
    assert post(tester, written).raw == first.raw


def test_an_answer_is_kept_encrypted(tester: ApiClient, settings: Any) -> None:
    hook = {"url": "https://hook.example.test/", "name": "Books"}
    first = post(tester, hook, path="/webhook_endpoints")
    assert first.body["secret"].startswith("whsec_")
    stored = bytes(IdempotencyKey.objects.get().body)
    assert b"whsec_" not in stored
    assert b"Books" not in stored
    assert post(tester, hook, path="/webhook_endpoints").raw == first.raw
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    assert post(tester, hook, path="/webhook_endpoints").code == "state_conflict"
    settings.ENCRYPTION_KEYS = []
    other = {"title": "Tea", "amount": "25.00"}
    assert post(tester, other, "k2", "/link_templates").raw == post(tester, other, "k2", "/link_templates").raw


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/checkouts", BODY | {"amount": "25.0"}),
        ("/checkouts", BODY | {"metadata": {"a": 1.0, "b": 2}}),
        ("/checkouts", b"no JSON"),
        ("/links", {"title": "Tea", "amount": "25.00"}),
        ("/links", BODY),
    ],
)
def test_the_same_key_with_another_body_or_path_is_a_conflict(tester: ApiClient, path: str, body: Any) -> None:
    first = post(tester)
    answer = post(tester, body, path=path)
    assert answer.refusal == (409, "duplicate", None)
    assert not is_replay(answer)
    assert (Checkout.objects.count(), PaymentLink.objects.count()) == (1, 0)
    assert post(tester).raw == first.raw


def test_the_key_of_one_object_says_nothing_of_another(tester: ApiClient) -> None:
    one, other = (f"/checkouts/{tester.created()['id']}/cancel" for _ in range(2))
    assert post(tester, b"", path=one).status == 200
    assert is_replay(post(tester, b"", path=one))
    assert post(tester, b"", path=other).refusal == (409, "duplicate", None)


def test_each_merchant_and_mode_has_its_own_keys(seller: ApiClient) -> None:
    clients = [seller, client_of(seller.merchant, Mode.TEST), client_of(mode=Mode.TEST)]
    answers = [post(client) for client in clients]
    assert [answer.status for answer in answers] == [201] * 3
    assert len({answer.body["id"] for answer in answers}) == Checkout.objects.count() == 3
    assert [post(client).raw for client in clients] == [answer.raw for answer in answers]


def test_another_api_key_of_the_merchant_gets_the_same_answer(tester: ApiClient) -> None:
    first = post(tester)
    assert tester.merchant is not None
    _, rotated = make_key(tester.merchant, Mode.TEST)
    assert post(ApiClient(key=rotated)).raw == first.raw


def test_an_error_is_not_kept_so_that_the_corrected_request_may_use_the_key(tester: ApiClient) -> None:
    assert post(tester, BODY | {"amount": "x"}).status == 400
    assert not IdempotencyKey.objects.exists()
    assert post(tester).status == 201
    unready = client_of(mode=Mode.LIVE)
    assert [post(unready).code for _ in range(2)] == ["receiving_wallet_missing"] * 2


def test_a_failure_after_the_object_was_written_leaves_neither(
    tester: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(api, "notices_of", lambda sent, wanted: 1 / 0)
        assert post(tester).status == 500
    assert not Checkout.objects.exists()
    assert not IdempotencyKey.objects.exists()
    assert (post(tester).status, is_replay(post(tester))) == (201, True)


def test_an_answer_is_kept_for_24_hours(tester: ApiClient) -> None:
    first = post(tester)
    now = timezone.now()
    _age(now - KEPT + timedelta(minutes=1))
    assert forget_old_keys(now=now) == 0
    assert post(tester).raw == first.raw
    _age(now - KEPT)
    # No task has deleted it yet.
    later = post(tester, BODY | {"amount": "30.00"})
    assert (later.status, later.body["amount"], is_replay(later)) == (201, "30.00", False)
    assert is_replay(post(tester, BODY | {"amount": "30.00"}))
    assert IdempotencyKey.objects.get().created_at >= now
    assert Checkout.objects.count() == 2


def test_old_keys_are_deleted_in_batches(tester: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "_BATCH", 2)
    for number in range(6):
        post(tester, key=f"k{number}")
    now = timezone.now()
    IdempotencyKey.objects.exclude(key="k5").update(created_at=now - KEPT)
    assert forget_old_keys(now=now) == 5
    assert IdempotencyKey.objects.get().key == "k5"


def _age(created_at: Any) -> None:
    IdempotencyKey.objects.update(created_at=created_at)


def test_an_order_reference_wins_where_both_are_sent(tester: ApiClient) -> None:
    order = BODY | {"order_ref": "order-1"}
    first = post(tester, order)
    assert first.status == 201
    # Another key does not make another checkout of the order, and the repeat of either gets what it got.
    other = post(tester, order, key="k2")
    assert (other.status, other.body["id"]) == (200, first.body["id"])
    assert [post(tester, order, key=key).status for key in ("k", "k2")] == [201, 200]
    assert post(tester, order | {"order_ref": "order-2"}).refusal == (409, "duplicate", None)
    _age(timezone.now() - KEPT)
    expired = post(tester, order)
    assert (expired.status, expired.body["id"]) == (200, first.body["id"])
    assert Checkout.objects.count() == 1


@pytest.mark.parametrize("route", POSTS)
def test_every_post_gives_the_kept_answer_to_a_repeat(tester: ApiClient, route: str) -> None:
    if route == OWN_WAY:
        assert post(tester, b"{}", path=path_of(route)).code == "parameter_missing"
        return
    if route == UNKEPT:
        assert post(tester, b"{}", path=path_of(route)).code == "resource_missing"
        return
    path = path_of(route)
    with CaptureQueriesContext(connection) as refused:
        post(tester, b"{}", path=path)
    assert "accounts_idempotencykey" in "".join(each["sql"] for each in refused)
    _keep(tester, path)
    answer = post(tester, b" { } ", path=path)
    assert (answer.status, answer.raw, is_replay(answer)) == (202, KEPT_BODY, True)
    assert post(tester, b'{"a": 1}', path=path).refusal == (409, "duplicate", None)


def _keep(client: ApiClient, path: str) -> None:
    assert client.merchant is not None
    IdempotencyKey.objects.all().delete()
    digest = sha256(f"{PREFIX}{path}\n{{}}".encode()).digest()
    kept: dict[str, Any] = {"digest": digest, "status": 202, "body": KEPT_BODY, "created_at": timezone.now()}
    IdempotencyKey.objects.create(merchant=client.merchant, mode=Mode.TEST, key="k", **kept)


@pytest.mark.parametrize("route", POSTS)
@pytest.mark.parametrize("key", ["", "x" * 256, "a\x00b", "a\nb"])
def test_every_post_refuses_a_key_that_it_cannot_take(tester: ApiClient, route: str, key: str) -> None:
    assert post(tester, b"{}", key, path_of(route)).refusal == (400, "parameter_invalid", "Idempotency-Key")


@pytest.mark.parametrize(("key", "status"), [("", 400), ("x", 201), ("x" * 128, 201), ("x" * 129, 400)])
def test_a_key_has_1_to_128_characters(tester: ApiClient, key: str, status: int) -> None:
    assert post(tester, key=key).status == status


def test_without_a_key_no_statement_is_added(tester: ApiClient) -> None:
    tester.create()
    with CaptureQueriesContext(connection) as asked:
        tester.create()
    assert len(asked) == 1
    with CaptureQueriesContext(connection) as asked:
        post(tester)
    # The savepoint here is the transaction of a real request: its begin and commit, the key, the checkout, the answer.
    assert len(asked) == 5


def test_other_methods_and_routes_without_it_ignore_a_key(tester: ApiClient) -> None:
    for method, path, status in [("GET", "/checkouts", 200), ("POST", "/chains", 405), ("POST", "/nowhere", 404)]:
        assert tester.send(method, path, b"{}", HTTP_IDEMPOTENCY_KEY="x" * 200).status == status
    assert not IdempotencyKey.objects.exists()


def test_a_replay_needs_what_the_first_request_needed(tester: ApiClient) -> None:
    post(tester)
    assert tester.merchant is not None
    _, reader = make_key(tester.merchant, Mode.TEST, "checkouts:read")
    assert post(ApiClient(key=reader)).status == 403
