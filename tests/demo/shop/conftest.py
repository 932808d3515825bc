"""A shop that nothing can be paid to."""

from collections.abc import Iterator

import pytest

from tests.demo.shop.client import Client, serve


@pytest.fixture
def shop() -> Iterator[Client]:
    yield from serve({})
