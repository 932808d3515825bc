"""What an index of TON may say of balances, however wrong."""

from typing import Any

import pytest

from localnet.ton.node import TonNode
from tests.wallets.accountchains import OnTon, spec_of
from tests.wallets.contract.hostile import HttpProxy
from tests.wallets.tonlab import changing_rows
from wallets.chains.base import MalformedAnswerError
from wallets.chains.registry import open_pool
from wallets.chains.ton.family import TON_FAMILY

pytestmark = pytest.mark.django_db

STRANGERS: list[Any] = [
    pytest.param({"balance": "-1"}, id="negative"),
    pytest.param({"balance": "1e3"}, id="no number"),
    pytest.param({"balance": None}, id="nothing"),
    pytest.param({"owner": f"0:{'ab' * 32}"}, id="a stranger's"),
    pytest.param({"jetton": f"0:{'ab' * 32}"}, id="another jetton's"),
]


@pytest.mark.parametrize("lie", STRANGERS)
def test_a_hostile_index_of_ton_tells_no_balance(ton_node: TonNode, lie: dict[str, Any]) -> None:
    chain = OnTon(ton_node)
    till = chain.new_address()
    chain.pay(till, 5)
    key = TON_FAMILY.address_key(till)
    with HttpProxy(chain.url) as proxy:
        spec = spec_of(chain, proxy.url)
        proxy.fault = changing_rows("jetton/wallets", "jetton_wallets", lambda row: row | lie)
        pool = open_pool(spec)
        with pytest.raises(MalformedAnswerError):
            spec.family.open_holdings(spec, pool).read({key: till})
        pool.close()
