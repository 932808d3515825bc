"""API keys on requests: which headers are keys, whose they are, and when they stop."""

import hashlib
import time
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.test import RequestFactory
from django.utils import timezone

from accounts.keys.authentication import Principal, key_cache, principal_of
from accounts.keys.service import new_key, revoke_api_key
from accounts.models import ApiKey
from accounts.states import Mode
from tests.contract.client import Answer, ApiClient
from tests.contract.provoking import count_requests
from tests.factories import NOON, make_key, make_merchant

pytestmark = pytest.mark.django_db


def ask(header: str | None) -> Answer:
    extra = {} if header is None else {"HTTP_AUTHORIZATION": header}
    return ApiClient().send("GET", "/checkouts", **extra)


@pytest.mark.parametrize("mode", Mode)
def test_a_key_names_its_mode_and_is_long(mode: Mode) -> None:
    _, secret = make_key(make_merchant(), mode)
    prefix = f"sk_{mode}_"
    assert secret.startswith(prefix)
    assert len(secret.removeprefix(prefix)) >= 32
    assert ask(f"Bearer {secret}").status == 200


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_read_in_any_case(scheme: str) -> None:
    _, secret = make_key(make_merchant())
    assert ask(f"{scheme} {secret}").status == 200


@pytest.mark.parametrize(
    ("header", "code"),
    [
        (None, "key_missing"),
        ("", "key_missing"),
        ("Bearer", "key_invalid"),
        ("Bearer ", "key_invalid"),
        ("Bearer sk_", "key_invalid"),
        ("Bearer sk_live_nobody", "key_invalid"),
        ("Bearer nonsense", "key_invalid"),
        ("Basic c2tfbGl2ZV94Og==", "key_invalid"),
        ("Token sk_live_nobody", "key_invalid"),
        ("sk_live_nobody", "key_invalid"),
        ("Bearer sk_live_é", "key_invalid"),
        ("Bearer sk_live_\x00", "key_invalid"),
        ("Bearer sk_live_" + "x" * 10_000, "key_invalid"),
        ("Bearer sk_live_' OR 1=1 --", "key_invalid"),
    ],
)
def test_other_headers_are_no_key(header: str | None, code: str) -> None:
    make_key(make_merchant())
    answer = ask(header)
    assert answer.refusal == (401, code, None)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


SPOILED = {
    "in capitals": str.upper,
    "cut short": lambda secret: secret[:-1],
    "with more behind": lambda secret: secret + "x",
    "of the other mode": lambda secret: secret.replace("sk_live_", "sk_test_"),
    "of no mode": lambda secret: secret.replace("sk_live_", "sk_"),
    "its digest": lambda secret: "sk_live_" + hashlib.sha256(secret.encode()).hexdigest(),
}


@pytest.mark.parametrize("spoiled", SPOILED)
def test_a_key_is_itself_and_nothing_like_it(spoiled: str) -> None:
    _, secret = make_key(make_merchant())
    assert ask(f"Bearer {SPOILED[spoiled](secret)}").code == "key_invalid"


def test_a_key_is_not_read_from_the_query_or_the_body() -> None:
    _, secret = make_key(make_merchant())
    for name in ("key", "api_key", "access_token"):
        assert ApiClient().get("/checkouts", {name: secret}).code == "key_missing"


def test_a_revoked_key_says_so_once_the_cache_forgot_it() -> None:
    key, secret = make_key(make_merchant())
    assert ask(f"Bearer {secret}").status == 200
    revoke_api_key(key, now=NOON)
    later = time.monotonic() + 5
    with mock.patch("accounts.keys.authentication.time.monotonic", return_value=later):
        assert ask(f"Bearer {secret}").refusal == (401, "key_revoked", None)


def test_no_worker_may_trust_a_key_for_five_seconds_or_longer(settings: Any) -> None:
    assert 0 <= settings.API_KEY_CACHE_SECONDS < 5


def test_a_key_in_constant_use_is_still_looked_up_again() -> None:
    """The time of the lookup counts, not that of the last use: else a busy key would never be revoked."""
    key, secret = make_key(make_merchant())
    start = time.monotonic()
    statuses = []
    for second in range(6):
        with mock.patch("accounts.keys.authentication.time.monotonic", return_value=start + second):
            statuses.append(ask(f"Bearer {secret}").status)
        if second == 0:
            revoke_api_key(key, now=NOON)
    assert (statuses[0], statuses[-1]) == (200, 401)
    assert statuses == sorted(statuses)


def test_refusals_are_not_remembered() -> None:
    key, secret = make_key(make_merchant())
    digest = key.digest
    ApiKey.objects.filter(pk=key.pk).update(digest=b"\x00" * 32)
    assert ask(f"Bearer {secret}").status == 401
    ApiKey.objects.filter(pk=key.pk).update(digest=digest)
    assert ask(f"Bearer {secret}").status == 200


def test_use_is_noted_to_the_minute() -> None:
    key, secret = make_key(make_merchant())
    ask(f"Bearer {secret}")
    key.refresh_from_db()
    first = key.last_used_at
    assert first is not None
    assert abs(first - timezone.now()) < timedelta(minutes=1)
    key_cache.clear()
    ask(f"Bearer {secret}")
    key.refresh_from_db()
    assert key.last_used_at == first


def test_what_a_key_was_used_for_and_what_it_lacked_is_noted() -> None:
    key, secret = make_key(make_merchant(), Mode.LIVE, "checkouts:read")
    ApiClient(key=secret, address="10.1.2.3").get("/checkouts")
    ApiClient(key=secret).get("/events")
    key.refresh_from_db()
    assert (key.last_used_from, key.last_used_scope, key.refused_scope) == ("10.1.2.3", "checkouts:read", "events:read")
    assert key.refused_at is not None


@pytest.mark.parametrize(
    ("told", "noted"),
    [
        ("florin-mcp/0.1 (an assistant)", "florin-mcp/0.1 (an assistant)"),
        ("a" * 500, "a" * 120),
        ("<b>\x07\x1b[31m</b>", "<b>[31m</b>"),
        (None, ""),
    ],
)
def test_the_program_that_used_a_key_is_noted_as_it_calls_itself(told: str | None, noted: str) -> None:
    key, secret = make_key(make_merchant())
    named: dict[str, Any] = {} if told is None else {"HTTP_USER_AGENT": told}
    principal_of(secret).admit(RequestFactory().get("/", REMOTE_ADDR="10.1.2.3", **named), None)
    key.refresh_from_db()
    assert key.last_used_agent == noted


def test_a_use_within_a_minute_writes_nothing(django_assert_num_queries: Any) -> None:
    _, secret = make_key(make_merchant())
    first = principal_of(secret)
    request = RequestFactory().get("/", REMOTE_ADDR="10.1.2.3")
    first.admit(request, "checkouts:read")
    with django_assert_num_queries(0):
        first.admit(request, "checkouts:read")


def test_an_expired_key_is_refused_at_once_though_it_is_cached() -> None:
    ends = timezone.now() + timedelta(hours=1)
    _, secret = make_key(make_merchant(), expires_at=ends)
    assert ask(f"Bearer {secret}").status == 200
    with mock.patch("accounts.keys.authentication.timezone.now", return_value=ends):
        assert ask(f"Bearer {secret}").refusal == (401, "key_expired", None)


def test_a_typing_error_is_told_from_a_key_that_does_not_exist() -> None:
    secret = new_key(Mode.LIVE)
    wrong = secret[:20] + ("x" if secret[20] != "x" else "y") + secret[21:]
    assert "typing error" in ask(f"Bearer {wrong}").error["message"]
    assert "does not exist" in ask(f"Bearer {secret}").error["message"]
    assert "does not exist" in ask("Bearer sk_live_" + "A" * 43).error["message"]


NEAR = ("203.0.113.0/24", "2001:db8::/32")


@pytest.mark.parametrize(
    ("peer", "forwarded", "status"),
    [
        ("203.0.113.7", "", 200),
        ("::ffff:203.0.113.7", "", 200),
        ("2001:db8::1", "", 200),
        ("198.51.100.1", "", 403),
        # Nobody but a trusted proxy is believed.
        ("198.51.100.1", "203.0.113.7", 403),
        ("203.0.113.7", "198.51.100.1", 200),
        # Two proxies in a row.
        ("10.0.0.1", "203.0.113.7, 10.0.0.2", 200),
        ("10.0.0.1", "203.0.113.7, 198.51.100.1, 10.0.0.2", 403),
    ],
)
def test_a_key_is_used_from_its_networks_alone(peer: str, forwarded: str, status: int, settings: Any) -> None:
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    _, secret = make_key(make_merchant(), networks=NEAR)
    extra = {"HTTP_X_FORWARDED_FOR": forwarded} if forwarded else {}
    answer = ApiClient(key=secret, address=peer).send("GET", "/checkouts", **extra)
    assert answer.status == status
    if status == 403:
        assert answer.code == "network_forbidden"
        assert "198.51.100.1" in answer.error["message"]


@pytest.mark.usefixtures("still_window")
def test_the_network_is_checked_before_the_scope_and_after_the_rate() -> None:
    _, secret = make_key(make_merchant(), Mode.LIVE, "events:read", networks=NEAR)
    client = ApiClient(key=secret)
    assert client.get("/reports/summary").status == 403
    count_requests(28)
    assert [client.get("/reports/summary").status for _ in range(2)] == [403, 429]
    assert client.get("/checkouts").code == "network_forbidden"


def test_the_cache_does_not_grow_without_bound() -> None:
    principal = Principal(key_id="key_x", merchant_id=1, mode=Mode.LIVE)
    for number in range(10_500):
        key_cache[number.to_bytes(32)] = principal
    assert len(key_cache) <= 10_000
    assert key_cache[(10_499).to_bytes(32)] == principal


def test_keys_of_two_merchants_never_mix() -> None:
    merchants = [make_merchant("one"), make_merchant("two")]
    clients = [ApiClient(key=make_key(m, Mode.TEST)[1]) for m in merchants]
    created = [client.created()["id"] for client in clients]
    for client, own, other in zip(clients, created, reversed(created), strict=True):
        assert client.get(f"/checkouts/{own}").status == 200
        assert client.get(f"/checkouts/{other}").status == 404
