"""Pages of a list by the key of the row they begin after."""

import pytest

from accounts.models import Merchant
from gateway.core.api.pagination import chunks_by_key, keyset_page
from tests.factories import make_merchant

pytestmark = pytest.mark.django_db


def test_pages_lead_on_and_back_and_keep_the_rest_of_the_query() -> None:
    newest = [make_merchant() for _ in range(5)][::-1]
    first = keyset_page(Merchant.objects.all(), {"q": "a"}, rows=2)
    assert (list(first.rows), first.is_first) == (newest[:2], True)
    assert first.older == f"q=a&before={newest[1].pk}"
    second = keyset_page(Merchant.objects.all(), {"before": str(newest[1].pk)}, rows=2)
    assert list(second.rows) == newest[2:4]
    back = keyset_page(Merchant.objects.all(), {"after": str(newest[2].pk)}, rows=2)
    assert list(back.rows) == newest[:2]


@pytest.mark.parametrize("key", ["", "x", "-1", "²", "9" * 19])
def test_a_key_that_is_none_is_the_first_page(key: str) -> None:
    merchant = make_merchant()
    assert list(keyset_page(Merchant.objects.all(), {"before": key}).rows) == [merchant]


def test_a_walk_has_every_row_once_newest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.core.api.pagination.CHUNK_ROWS", 2)
    newest = [make_merchant() for _ in range(5)][::-1]
    chunks = list(chunks_by_key(Merchant.objects.all()))
    assert [len(chunk) for chunk in chunks] == [2, 2, 1]
    assert [row for chunk in chunks for row in chunk] == newest
