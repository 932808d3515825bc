"""Genuine tokens that no checkout accepts are read at intervals, so that payments are read no slower."""

from collections.abc import Callable
from typing import Any

import pytest

from demo.localnet.solana.node import SolanaNode
from demo.localnet.ton.node import TonNode
from tests.nodes.proxy import RpcProxy, garbage, honest, methods_of
from tests.wallets.chains.solana.reading import new_owner, read_one, solana_spec, units_of
from tests.wallets.contract.hostile import Answer, Fault, HttpProxy
from tests.wallets.tonlab import account_at, broken, changing, read_on, ton_spec
from wallets.chains.adapters import open_pool
from wallets.chains.intervals import SECONDS
from wallets.chains.solana.adapter import SolanaAdapter
from wallets.chains.ton.adapter import TonAdapter


def test_another_issuers_token_is_read_at_its_mint_at_intervals(solana_node: SolanaNode) -> None:
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


def test_another_issuers_jetton_is_read_at_its_master_at_intervals(ton_node: TonNode) -> None:
    spec, now = (ton_spec(ton_node.url, usdt=ton_node.usdt, TOKEN_USDE=ton_node.fake), [0.0])
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


def test_a_node_that_cannot_tell_of_other_tokens_stops_no_payment(solana_node: SolanaNode) -> None:
    asked: list[str] = []

    def refusing(proxy: RpcProxy, request: Any, ask: Callable[[Any], Any]) -> Any:
        asked.extend(methods_of(request))
        is_other = "getMultipleAccounts" in methods_of(request)
        return (garbage() if is_other else honest)(proxy, request, ask)

    owner = new_owner()
    with RpcProxy(solana_node.url) as proxy:
        proxy.fault = refusing
        spec = solana_spec(proxy.url)
        reader = SolanaAdapter(spec, open_pool(spec), clock=lambda: 0.0)
        solana_node.pay(owner, 7)
        assert [units_of(read_one(reader, owner)) for _ in range(2)] == [[7], [7]]
        reader.close()
    # Only once per interval.
    assert asked.count("getMultipleAccounts") == 1


def of_all_jettons(change: Callable[[list[Any]], list[Any]]) -> Fault:
    """Change the rows of listings that are not of one jetton."""
    listing = changing(
        "jetton/transfers", lambda answer: answer | {"jetton_transfers": change(answer["jetton_transfers"])}
    )

    def fault(target: str, answer: Answer) -> Answer:
        return answer if "jetton_master" in target else listing(target, answer)

    return fault


def with_a_stranger(rows: list[Any]) -> list[Any]:
    """Add a row of a jetton that cannot be read."""
    return [*rows, *(broken(jetton_master=None)(row) for row in rows[-1:])]


def out_of_order(rows: list[Any]) -> list[Any]:
    """Add a row of long ago at the end."""
    return [*rows, *(broken(transaction_now=1)(row) for row in rows[-1:])]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(with_a_stranger, [3, 25], id="no address"),
        pytest.param(out_of_order, [3], id="out of order"),
        pytest.param(lambda rows: rows * 1_000, [3], id="too much"),
        pytest.param(lambda rows: [None], [3], id="no row"),
    ],
)
def test_unreadable_rows_of_strangers_jettons_stop_no_payment(
    ton_node: TonNode, change: Callable[[list[Any]], list[Any]], expected: list[int]
) -> None:
    with HttpProxy(ton_node.url) as proxy:
        spec = ton_spec(proxy.url, usdt=ton_node.usdt, TOKEN_USDE=ton_node.fake)
        adapter = TonAdapter(spec, open_pool(spec), clock=lambda: 0.0)
        account = account_at(ton_node.create_wallet().address, adapter.head())
        ton_node.pay(account.address, 3)
        ton_node.pay(account.address, 25, jetton=ton_node.fake)
        proxy.fault = of_all_jettons(change)
        head = adapter.head()
        reading = read_on(adapter, account, head=head)
        assert units_of(reading.transfers) == expected
        assert reading.through == head.block
        before = adapter.requests
        read_on(adapter, account, head=head)
        # The payments alone are listed, and their outcome is known.
        assert adapter.requests - before == 1
        adapter.close()
