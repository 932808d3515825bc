"""How toncenter's index is asked: pages, long rows, many accounts."""

from dataclasses import replace

import pytest

from localnet.ton.messages import Payment
from localnet.ton.node import TonNode
from tests.wallets.chains.ton.test_decode import TRANSFERS
from tests.wallets.contract.hostile import Answer, HttpProxy
from tests.wallets.tonlab import account_at, changing, open_ton, read_on
from wallets.chains.base import Account, MalformedAnswerError
from wallets.chains.ton.adapter import TonAdapter
from wallets.chains.ton.questions import AT_ONCE


def test_more_rows_than_asked_for_are_an_error(
    ton_node: TonNode, ton_proxy: HttpProxy, paid_ton_account: Account
) -> None:
    adapter = open_ton(ton_node, ton_proxy.url, page=2)
    ton_proxy.fault = changing(TRANSFERS[0], lambda answer: {TRANSFERS[1]: answer[TRANSFERS[1]] * 3})
    with pytest.raises(MalformedAnswerError, match="too much"):
        read_on(adapter, paid_ton_account)
    adapter.close()


def too_long_unless_one_by_one(target: str, answer: Answer) -> Answer:
    """Answer with 17 MB unless one row was asked for."""
    if "transfers" not in target or target.endswith("limit=1") or "limit=1&" in target:
        return answer
    return replace(answer, body=b" " * (17 << 20))


def test_rows_too_long_for_one_answer_are_asked_for_in_smaller_pages(
    ton_node: TonNode, ton_proxy: HttpProxy, paid_ton_account: Account
) -> None:
    adapter = open_ton(ton_node, ton_proxy.url, page=8)
    ton_node.send([Payment(paid_ton_account.address, 8), Payment(paid_ton_account.address, 9)])
    head = adapter.head()
    ton_proxy.fault = too_long_unless_one_by_one
    reading = read_on(adapter, paid_ton_account, head=head)
    assert [paid.units for paid in reading.transfers] == [7, 8, 9]
    assert reading.through == head.block
    adapter.close()


def test_requests_stay_within_the_lines_that_proxies_take(
    ton_node: TonNode, ton_proxy: HttpProxy, proxied_ton_adapter: TonAdapter
) -> None:
    targets: list[str] = []

    def note(target: str, answer: Answer) -> Answer:
        targets.append(target)
        return answer

    ton_proxy.fault = note
    head = proxied_ton_adapter.head()
    accounts = [Account(bytes(1) + number.to_bytes(32, "big"), "", 0, head.block.time) for number in range(AT_ONCE)]
    proxied_ton_adapter.read_accounts(accounts, head=head)
    assert 5_000 < max(len(target) for target in targets) < 8_000


def test_a_reading_of_many_takes_few_requests(ton_node: TonNode, proxied_ton_adapter: TonAdapter) -> None:
    account = account_at(ton_node.create_wallet().address, proxied_ton_adapter.head())
    for _ in range(3):
        ton_node.send([Payment(account.address, units) for units in (1, 2, 3, 4)])
    head, before = proxied_ton_adapter.head(), proxied_ton_adapter.requests
    assert len(read_on(proxied_ton_adapter, account, head=head).transfers) == 12
    assert proxied_ton_adapter.requests - before == 3
