"""Addresses of engines, in each reader's notation."""

import pytest

from gateway.core.embedded import celery_url


@pytest.mark.parametrize(
    ("redis_url", "expected"),
    [
        ("unix://:pw@/run/v.sock?db=3", "redis+socket://:pw@/run/v.sock?virtual_host=3"),
        ("unix://:pw@/run/v.sock", "redis+socket://:pw@/run/v.sock?virtual_host=0"),
        ("rediss://:pw@cache:6379/1", "rediss://:pw@cache:6379/1"),
    ],
)
def test_celery_gets_the_same_server_in_its_own_notation(redis_url: str, expected: str) -> None:
    assert celery_url(redis_url) == expected
