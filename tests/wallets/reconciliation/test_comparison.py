"""What is written of a comparison of sources."""

import pytest
from django.utils import timezone

from tests.wallets.books import Books, differences
from tests.wallets.factories import local_spec
from wallets.chains.base import BlockRef
from wallets.reconciliation.comparison import ComparedRange, SourceDisagreesError, settle
from wallets.watchers.leases import LeaseLostError, release_lease

pytestmark = pytest.mark.django_db


def test_who_lost_the_lease_while_asking_writes_nothing(books: Books) -> None:
    books.pay()
    height = books.node.block_number()
    scope = ComparedRange(0, height)
    release_lease("base", "one")
    with pytest.raises(LeaseLostError):
        settle(
            local_spec(books.first.url), [], scope=scope, source="http://node.example", owner="one", now=timezone.now()
        )
    assert differences() == []


def test_a_fork_while_a_source_was_asked_writes_nothing(books: Books) -> None:
    books.pay()
    height = books.node.block_number()
    end = BlockRef(height, "0x" + "ab" * 32, "", timezone.now())
    with pytest.raises(SourceDisagreesError):
        settle(
            local_spec(books.first.url),
            [],
            scope=ComparedRange(0, height, end=end),
            source="http://node.example",
            owner="one",
            now=timezone.now(),
        )
    assert differences() == []
