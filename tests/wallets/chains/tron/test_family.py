"""What Tron's family answers: its balances are those of the newest block."""

from demo.localnet.tokens import balance_of
from demo.localnet.tron.addresses import to_hex
from demo.localnet.tron.node import USDT as USDT_ON_TRON
from demo.localnet.tron.node import TronNode
from tests.wallets.evmkin import spec_of
from wallets.chains.adapters import open_pool
from wallets.chains.tron.family import TRON_FAMILY

TRON_WALLET = "TPecqY13cLPBbG855V9q7tbMgQhRkwLDVr"


def test_tron_is_asked_for_the_newest_block_which_is_all_it_answers_for(tron_node: TronNode) -> None:
    spec = spec_of("tron", tron_node.url)
    pool = open_pool(spec)
    payer_key = TRON_FAMILY.address_key(tron_node.payer_address)
    tron_node.pay(TRON_WALLET, 7)
    key = TRON_FAMILY.address_key(TRON_WALLET)
    told = spec.family.open_holdings(spec, pool).read({key: "", payer_key: ""})
    pool.close()
    left = balance_of(tron_node.anvil, to_hex(USDT_ON_TRON), to_hex(tron_node.payer_address))
    assert told.units == {key: {"USDT": 7}, payer_key: {"USDT": left}}
    assert told.height == tron_node.anvil.block_number()
