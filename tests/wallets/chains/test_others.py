"""Genuine tokens that no checkout accepts are read at intervals, so that payments are read no slower."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from localnet.solana.node import SolanaNode
from localnet.ton.node import TonNode
from tests.nodes.proxy import RpcProxy, garbage, honest, methods_of
from tests.wallets.chains.solana.reading import new_owner, read_one, solana_spec, units_of
from tests.wallets.contract.hostile import Answer, Fault, HttpProxy
from tests.wallets.contract.hostile import honest as unchanged
from tests.wallets.tonlab import account_at, broken, changing, read_on, ton_spec
from wallets.chains.base import Account, AccountReading, BlockRef, MalformedAnswerError, TokenTransfer
from wallets.chains.others import SECONDS, OtherTokens
from wallets.chains.registry import open_pool
from wallets.chains.solana.adapter import SolanaAdapter
from wallets.chains.ton.adapter import TonAdapter

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


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


def test_a_node_that_cannot_tell_of_other_tokens_stops_no_payment_and_is_asked_less_and_less(
    solana_node: SolanaNode,
) -> None:
    asked: list[str] = []

    def refusing(proxy: RpcProxy, request: Any, ask: Callable[[Any], Any]) -> Any:
        asked.extend(methods_of(request))
        is_other = "getMultipleAccounts" in methods_of(request)
        return (garbage() if is_other else honest)(proxy, request, ask)

    owner, now = new_owner(), [0.0]
    with RpcProxy(solana_node.url) as proxy:
        proxy.fault = refusing
        spec = solana_spec(proxy.url)
        reader = SolanaAdapter(spec, open_pool(spec), clock=lambda: now[0])
        solana_node.pay(owner, 7)
        for moment, times in [(0, 1), (0, 2), (0, 2), (1, 2), (2, 3), (3, 3), (4, 4)]:
            now[0] = moment
            assert units_of(read_one(reader, owner)) == [7]
            assert asked.count("getMultipleAccounts") == times
        reader.close()


def test_what_no_node_told_for_long_is_read_once_one_does(ton_node: TonNode) -> None:
    """Meanwhile the payments' own place has moved on by more than a look reaches back."""
    with HttpProxy(ton_node.url) as proxy:
        spec, now = ton_spec(proxy.url, usdt=ton_node.usdt, TOKEN_USDE=ton_node.fake), [0.0]
        adapter = TonAdapter(spec, open_pool(spec), clock=lambda: now[0])
        account = account_at(ton_node.create_wallet().address, adapter.head())
        read_on(adapter, account)
        ton_node.pay(account.address, 25, jetton=ton_node.fake)
        proxy.fault = of_all_jettons(lambda rows: [None])
        for _ in range(3):
            ton_node.elapse(600)
            now[0] += SECONDS
            through = read_on(adapter, account).through
            account = replace(account, height=through.height, time=through.time)
        proxy.fault = unchanged
        now[0] += SECONDS
        assert units_of(read_on(adapter, account).transfers) == [25]
        adapter.close()


class Looks:
    """Looks at the other tokens of some accounts, of which one may be unreadable."""

    def __init__(self) -> None:
        self.now = 0.0
        self.bad: set[bytes] = set()
        self.asked: list[list[bytes]] = []
        self._spec = solana_spec("http://node.invalid")
        self._others = OtherTokens(self._spec, open_pool(self._spec), clock=lambda: self.now)

    def look(self, *accounts: Account) -> list[bytes]:
        """The accounts that are read, in one reading of payments."""
        payments = [AccountReading(one.key, block_at(one.height), ()) for one in accounts]
        self.asked.append([])
        read = self._others.beside(payments, accounts, self._read)
        return [one.key for one in read if one.transfers]

    def _read(self, due: Sequence[Account]) -> list[AccountReading]:
        self.asked[-1] = [one.key for one in due]
        if self.bad & {*self.asked[-1]}:
            raise MalformedAnswerError("unreadable")
        return [AccountReading(one.key, block_at(one.height), [transfer_to(one.key)]) for one in due]


def block_at(height: int) -> BlockRef:
    return BlockRef(height, "", "", NOON)


def transfer_to(key: bytes) -> TokenTransfer:
    return TokenTransfer("solana", "t", 0, "USDT", "m", 1, "s", key, "r", 1, "b", NOON)


def test_an_account_that_cannot_be_read_keeps_the_others_not_for_long() -> None:
    looks = Looks()
    accounts = [Account(bytes([number]), "", 10_000, NOON) for number in range(8)]
    looks.bad = {accounts[3].key}
    read: set[bytes] = set()
    for _ in range(20):
        read |= {*looks.look(*accounts)}
        looks.now += 2
    assert read == {one.key for one in accounts} - looks.bad
    looks.bad.clear()
    looks.now += SECONDS
    assert accounts[3].key in looks.look(*accounts)


def test_an_account_with_very_many_is_read_on_at_the_next_reading(solana_node: SolanaNode) -> None:
    owner, spec = new_owner(), solana_spec(solana_node.url)
    reader = SolanaAdapter(spec, open_pool(spec), most=2, clock=lambda: 0.0)
    usdt = solana_node.create_token(spec.tokens["USDT"].address)
    solana_node.fund(str(solana_node.payer.pubkey()), 100, token=usdt)
    for units in range(1, 6):
        solana_node.pay(owner, units, token=usdt)
        solana_node.advance()
    read = [units_of(read_one(reader, owner)) for _ in range(4)]
    reader.close()
    assert read == [[1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 5], []]


def test_a_transaction_of_both_kinds_is_told_once() -> None:
    spec = solana_spec("http://node.invalid")
    others = OtherTokens(spec, open_pool(spec), clock=lambda: 0.0)
    account, both = Account(b"k", "", 10_000, NOON), transfer_to(b"k")
    payments = [AccountReading(account.key, block_at(10_000), [both])]
    found = AccountReading(account.key, block_at(10_000), [both, replace(both, position=1)])
    [reading] = others.beside(payments, [account], lambda due: [found])
    assert [one.position for one in reading.transfers] == [0, 1]


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
        assert units_of(read_on(adapter, account, head=head).transfers) == [3]
        # The payments are listed, and their outcome is known; what was not read is asked for again.
        assert adapter.requests - before == (1 if 25 in expected else 2)
        adapter.close()
