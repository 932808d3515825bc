"""Fixtures of the package's tests: a stand-in for the facilitator, and shops behind the gate. Nothing of Florin is needed."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from shops import STYLES, OpenShop, Shop, shop_in
from standin import StandIn, standing_in

# Florin's own run of these tests has configured Django already.
if not settings.configured:
    settings.configure()


@pytest.fixture
def facilitator() -> Iterator[StandIn]:
    """A stand-in for the facilitator, of its own for each test."""
    with standing_in() as standin:
        yield standin


@pytest.fixture
def shared_cache() -> Iterator[str]:
    """The name of a cache that shops share. It is there before they open, and until they are closed: settings are a stack."""
    memory = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "x402-claims"}
    with override_settings(CACHES={"x402": memory}):
        yield "x402"


@pytest.fixture
def open_shop(facilitator: StandIn) -> Iterator[OpenShop]:
    """Opens shops before which the gate stands; they are closed after the test."""
    with ExitStack() as stack:

        def opened(style: str = "wsgi", price: Any = "0.01", *, prices: Any = None, **more: Any) -> Shop:
            config = facilitator.config(prices or {"/report": price}, **more)
            return stack.enter_context(shop_in(style, config))

        yield opened


@pytest.fixture(params=STYLES)
def gated_shop(request: pytest.FixtureRequest, open_shop: OpenShop) -> Shop:
    """A shop in each style, with a report for a cent."""
    return open_shop(request.param)
