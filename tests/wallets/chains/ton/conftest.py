"""A reader of a local TON chain, behind a proxy that can be made to lie."""

from collections.abc import Iterator

import pytest

from demo.localnet.ton.node import TonNode
from tests.wallets.contract.hostile import HttpProxy
from tests.wallets.tonlab import account_at, open_ton
from wallets.chains.base import Account
from wallets.chains.ton.adapter import TonAdapter


@pytest.fixture
def proxy(ton_node: TonNode) -> Iterator[HttpProxy]:
    with HttpProxy(ton_node.url) as proxy:
        yield proxy


@pytest.fixture
def adapter(ton_node: TonNode, proxy: HttpProxy) -> Iterator[TonAdapter]:
    adapter = open_ton(ton_node, proxy.url)
    yield adapter
    adapter.close()


@pytest.fixture
def account(ton_node: TonNode, adapter: TonAdapter) -> Account:
    """A merchant's wallet that was paid 7 units since it was read."""
    account = account_at(ton_node.create_wallet().address, adapter.head())
    ton_node.pay(account.address, 7, "memo")
    return account
