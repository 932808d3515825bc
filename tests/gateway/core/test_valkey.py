"""Without Valkey nothing stops."""

from typing import Any

from gateway.core import valkey
from gateway.core.api.rate_limits import Limit, hit

LIMIT = Limit("test", 60)


NOW = 1_800_000_030.0


def test_without_a_store_every_hit_passes_and_is_counted(settings: Any) -> None:
    settings.REDIS_URL = ""
    before = valkey.UNAVAILABLE._value.get()
    states = [hit(LIMIT, "me", now=NOW) for _ in range(61)]
    assert not any(state.exceeded for state in states)
    assert {state.remaining for state in states} == {60}
    assert valkey.UNAVAILABLE._value.get() == before + 61
