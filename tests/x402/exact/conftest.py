"""A merchant whose machines pay by signature on a local Base."""

from collections.abc import Iterator
from typing import Any

import pytest

from accounts.states import Mode
from demo.localnet.anvil import Anvil
from demo.localnet.permit2 import lay_multicall, lay_permit2
from tests.contract.client import ApiClient, client_of
from tests.x402.exact.cases import Case
from tests.x402.exact.library import Library, open_library
from tests.x402.exact.shop import connect_base, open_shop
from tests.x402.payers import pay_to_of


@pytest.fixture
def usdc(base_node: Anvil, settings: Any) -> str:
    """USDC's address on the only chain that can be asked."""
    return connect_base(settings, base_node)


@pytest.fixture
def seller(usdc: str) -> ApiClient:
    """A live key of a merchant with a wallet on Base."""
    return open_shop()


@pytest.fixture
def _no_bells(settings: Any) -> None:
    """Nobody else deals with the queue."""
    settings.TRANSFER_CONSUMERS = []


@pytest.fixture
def tester() -> ApiClient:
    """A test key."""
    return client_of(mode=Mode.TEST)


@pytest.fixture(scope="session")
def library() -> Iterator[Library]:
    """The published library, which takes seconds to start."""
    with open_library() as opened:
        yield opened


@pytest.fixture
def case(base_node: Anvil, seller: ApiClient, usdc: str) -> Case:
    """With everything in its place that the library asks."""
    lay_multicall(base_node)
    lay_permit2(base_node)
    return Case(base_node, usdc, pay_to_of(seller))
