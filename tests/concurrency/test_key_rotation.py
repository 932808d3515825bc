"""An API key that is rotated while programs use it."""

from concurrent.futures import Future
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.audit.actors import SYSTEM
from accounts.keys.authentication import key_cache, principal_of
from accounts.keys.service import rotate_api_key
from tests.concurrency.races import SECONDS, together
from tests.contract.client import ApiClient
from tests.factories import make_key, make_merchant

pytestmark = [pytest.mark.concurrency, pytest.mark.django_db(transaction=True)]

_WORKERS = 8


def test_eight_programs_use_the_old_and_the_new_key_while_one_is_rotated() -> None:
    old, secret = make_key(make_merchant())
    successor: Future[str] = Future()

    def rotate() -> list[int]:
        _, fresh = rotate_api_key(old, ends_in=timedelta(days=1), now=timezone.now(), actor=SYSTEM)
        successor.set_result(fresh)
        return []

    def use() -> list[int]:
        before = [_ask(secret), _ask(secret)]
        fresh = successor.result(SECONDS)
        return [*before, _ask(fresh), _ask(secret), _ask(fresh)]

    statuses = together(rotate, *[use] * _WORKERS)
    assert [status for each in statuses for status in each] == [200] * 5 * _WORKERS
    key_cache.clear()
    assert principal_of(secret).expires_at is not None


def _ask(key: str) -> int:
    return ApiClient(key=key).get("/key").status
