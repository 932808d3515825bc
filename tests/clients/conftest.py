"""A stand-in for the facilitator, and shops before which the gate stands."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.clients.shops import STYLES, Shop, shop_in
from tests.clients.standin import StandIn, standing_in

OpenShop = Callable[..., Shop]


@pytest.fixture
def facilitator() -> Iterator[StandIn]:
    """A stand-in of its own for each test."""
    with standing_in() as standin:
        yield standin


@pytest.fixture
def open_shop(facilitator: StandIn) -> Iterator[OpenShop]:
    """Opens shops that are closed after the test."""
    with ExitStack() as stack:

        def opened(style: str = "wsgi", price: Any = "0.01", *, prices: Any = None, **more: Any) -> Shop:
            config = facilitator.config(prices or {"/report": price}, **more)
            return stack.enter_context(shop_in(style, config))

        yield opened


@pytest.fixture(params=STYLES)
def shop(request: pytest.FixtureRequest, open_shop: OpenShop) -> Shop:
    """A shop in each style, with a report for a cent."""
    return open_shop(request.param)
