"""Genuine tokens that no checkout accepts are read at intervals, so that payments are read no slower."""

from demo.localnet.solana.node import SolanaNode
from demo.localnet.ton.node import TonNode
from tests.wallets.chains.solana.reading import (
    new_owner,
    read_one,
    solana_spec,
    units_of,
)
from tests.wallets.tonlab import account_at, read_on, ton_spec
from wallets.chains.adapters import open_pool
from wallets.chains.intervals import SECONDS
from wallets.chains.solana.adapter import SolanaAdapter
from wallets.chains.ton.adapter import TonAdapter


def test_another_issuers_token_is_read_at_its_mint_at_intervals(
    solana_node: SolanaNode,
) -> None:
    owner = new_owner()
    spec, now = solana_spec(solana_node.url), [0.0]
    reader = SolanaAdapter(spec, open_pool(spec), clock=lambda: now[0])
    usdt = solana_node.create_token(spec.tokens["USDT"].address)
    solana_node.fund(str(solana_node.payer.pubkey()), 100, token=usdt)
    assert read_one(reader, owner) == []
    solana_node.pay(owner, 7)
    solana_node.pay(owner, 8, token=usdt)
    # Not yet: in between, only payments are read.
    assert units_of(read_one(reader, owner)) == [7]
    now[0] += SECONDS
    found = read_one(reader, owner)
    reader.close()
    assert [(one.token, one.units) for one in found] == [("USDC", 7), ("USDT", 8)]
    assert found[1].token_address == usdt


def test_another_issuers_jetton_is_read_at_its_master_at_intervals(
    ton_node: TonNode,
) -> None:
    spec, now = (
        ton_spec(ton_node.url, usdt=ton_node.usdt, TOKEN_USDE=ton_node.fake),
        [0.0],
    )
    adapter = TonAdapter(spec, open_pool(spec), clock=lambda: now[0])
    account = account_at(ton_node.create_wallet().address, adapter.head())
    assert read_on(adapter, account).transfers == []
    ton_node.pay(account.address, 3)
    ton_node.pay(account.address, 25, "memo", jetton=ton_node.fake)
    # Not yet: in between, only payments are read.
    assert units_of(read_on(adapter, account).transfers) == [3]
    now[0] += SECONDS
    found = read_on(adapter, account).transfers
    adapter.close()
    assert [(one.token, one.units) for one in found] == [("USDT", 3), ("USDe", 25)]
    assert found[1].labels == ("memo",)
