"""One process at a time does a piece of work."""

import pytest
from django.conf import settings

from gateway.core.leases import leases
from settlements.sweeps.turns import alone


@pytest.mark.django_db
def test_work_that_another_process_does_is_not_ours_until_it_ends() -> None:
    name = "settlements:sweep:base"
    with alone("sweep:base") as is_ours:
        assert is_ours
        assert leases.take(name, "another", seconds=60) is None
    assert leases.take(name, "another", seconds=settings.CELERY_TASK_TIME_LIMIT)
    with alone("sweep:base") as is_ours:
        assert not is_ours
