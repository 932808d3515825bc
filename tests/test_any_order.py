"""Rows without an order come backwards where that is wanted."""

import pytest
from django.db.models.sql.compiler import SQLCompiler

from accounts.models import Merchant
from tests import any_order
from tests.factories import make_merchant

pytestmark = pytest.mark.django_db


def test_only_rows_that_were_asked_for_in_no_order_come_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = make_merchant(), make_merchant()
    monkeypatch.setattr(SQLCompiler, "execute_sql", any_order.execute_sql)
    assert list(Merchant.objects.all()) == [second, first]
    assert list(Merchant.objects.filter(pk__in=[first.pk, second.pk])) == [second, first]
    assert list(Merchant.objects.order_by("pk")) == [first, second]
    assert Merchant.objects.first() == first
    assert Merchant.objects.count() == 2
