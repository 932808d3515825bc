"""Several reads at one moment."""

import pytest
from django.db import InternalError, transaction

from accounts.models import Merchant
from gateway.core.postgres.replica import snapshot
from tests.concurrency.races import crew
from tests.factories import make_merchant


def count_twice() -> list[int]:
    """How many merchants there are, before and after another connection makes one."""
    before = Merchant.objects.count()
    with crew() as threads:
        threads.start(make_merchant).result()
    return [before, Merchant.objects.count()]


@pytest.mark.django_db(transaction=True)
def test_in_a_snapshot_nothing_comes_or_goes() -> None:
    with snapshot():
        assert count_twice() == [0, 0]
    assert Merchant.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_usual_transaction_sees_what_others_commit() -> None:
    with transaction.atomic():
        assert count_twice() == [0, 1]


@pytest.mark.django_db(transaction=True)
def test_nothing_is_written_in_a_snapshot() -> None:
    with pytest.raises(InternalError, match="read-only"), snapshot():
        make_merchant()
    make_merchant()


@pytest.mark.django_db(transaction=True)
def test_in_a_transaction_it_changes_nothing() -> None:
    with transaction.atomic():
        make_merchant()
        with snapshot():
            assert Merchant.objects.count() == 1
            make_merchant()
    assert Merchant.objects.count() == 2
