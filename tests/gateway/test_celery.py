"""What a worker does before its pool is forked."""

import gc
from collections.abc import Iterator

import pytest
from celery.signals import worker_before_create_process


@pytest.fixture
def unfrozen() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unfrozen")
def test_a_worker_shares_what_it_imported_with_its_pool() -> None:
    worker_before_create_process.send(sender=None)

    # Modules, classes and functions: far more than a few objects.
    assert gc.get_freeze_count() > 10_000
