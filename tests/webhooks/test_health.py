"""When an endpoint is on probation."""

import pytest

from tests.factories import NOON
from webhooks.health import Health
from webhooks.schedule import Answer

pytestmark = pytest.mark.django_db


def test_five_failures_begin_probation_and_one_success_ends_it() -> None:
    health = Health()
    for _ in range(4):
        health = health.after(Answer(500), at=NOON)
    assert not health.on_probation
    health = health.after(Answer(None, error="timeout"), at=NOON)
    assert health.on_probation
    assert not health.after(Answer(200), at=NOON).on_probation
