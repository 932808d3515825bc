"""TronGrid's answers: read whole or refused."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from localnet.tron import TronNode
from tests.wallets.chains.tron.test_grid import KEYS, NOON, WALLETS, solidified
from tests.wallets.contract.hostile import Answer, HttpProxy
from wallets.chains.base import BlockRef, ChainError, MalformedAnswerError
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.tron.grid import TronGridSource


def test_a_transaction_without_a_good_end_paid_nothing(
    tron_node: TronNode, tron_adapter: EvmAdapter, tron_grid: TronGridSource, tron_grid_proxy: HttpProxy
) -> None:
    tron_node.pay(WALLETS[0], 25)
    tron_node.mine(25)
    tron_grid_proxy.fault = answers("gettransactioninfobyid", lambda told: told | {"receipt": {"result": "REVERT"}})
    assert tron_grid.transfers(KEYS, *solidified(tron_adapter)) == []


def answers(path: str, change: Callable[[Any], Any]) -> Callable[..., Answer]:
    """Change what is answered at one path."""

    def fault(target: str, answer: Answer) -> Answer:
        if path not in target:
            return answer
        return Answer(json.dumps(change(json.loads(answer.body))).encode())

    return fault


def with_log(**fields: Any) -> Callable[..., Answer]:
    return answers("gettransactioninfobyid", lambda told: told | {"log": [log | fields for log in told["log"]]})


TRANSFER = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


LIES: dict[str, Callable[..., Answer]] = {
    "listing is a list": answers("trc20", lambda _: []),
    "listing failed": answers("trc20", lambda told: told | {"success": False}),
    "no rows": answers("trc20", lambda told: told | {"data": None}),
    "a row is a text": answers("trc20", lambda told: told | {"data": ["row"]}),
    "id is no hash": answers("trc20", lambda told: told | {"data": [{"transaction_id": "../../x"}]}),
    "no meta": answers("trc20", lambda told: told | {"meta": None}),
    "pages go round": answers("trc20", lambda told: told | {"meta": {"fingerprint": "again"}}),
    "fingerprint is a number": answers("trc20", lambda told: told | {"meta": {"fingerprint": 7}}),
    "unknown transaction": answers("gettransactioninfobyid", lambda _: {}),
    "another transaction": answers("gettransactioninfobyid", lambda told: told | {"id": "ab" * 32}),
    "height is a text": answers("gettransactioninfobyid", lambda told: told | {"blockNumber": "1"}),
    "logs are an object": answers("gettransactioninfobyid", lambda told: told | {"log": {}}),
    "no data": with_log(data=""),
    "data is no hex": with_log(data="z" * 64),
    "no emitter": with_log(address=None),
    "sender is too long": with_log(topics=[TRANSFER, "ff" * 32, "00" * 32]),
    "a topic is a number": with_log(topics=[TRANSFER, 1, 2]),
    "no such block": answers("getblock", lambda _: {}),
    "block without header": answers("getblock", lambda told: {"blockID": told["blockID"]}),
    "block id is short": answers("getblock", lambda told: told | {"blockID": "12"}),
    "another height": answers("getblock", lambda told: {**told, "block_header": {"raw_data": {"number": 7}}}),
    "html": lambda target, answer: Answer(b"<html>"),
    "null": lambda target, answer: Answer(b"null"),
    "500": lambda target, answer: Answer(b"", status=500),
    "half": lambda target, answer: Answer(answer.body, cut=len(answer.body) // 2),
    "17 MB": lambda target, answer: Answer(answer.body + b" " * 17 * 2**20),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_an_answer_that_fails_a_check_is_never_half_used(
    tron_node: TronNode,
    tron_adapter: EvmAdapter,
    tron_grid: TronGridSource,
    tron_grid_proxy: HttpProxy,
    lie: Callable[..., Answer],
) -> None:
    tron_node.pay(WALLETS[0], 25)
    tron_node.mine(25)
    span = solidified(tron_adapter)
    tron_grid_proxy.fault = lie
    with pytest.raises(ChainError):
        tron_grid.transfers(KEYS, *span)
    tron_grid_proxy.fault = lambda target, answer: answer
    assert [one.units for one in tron_grid.transfers(KEYS, *span)] == [25]


def test_odd_logs_of_other_contracts_hide_nothing(
    tron_node: TronNode, tron_adapter: EvmAdapter, tron_grid: TronGridSource, tron_grid_proxy: HttpProxy
) -> None:
    tron_node.pay(WALLETS[0], 25)
    tron_node.mine(25)
    odd = {"address": "66" * 20, "topics": [TRANSFER, "ff" * 32, "zz"], "data": ""}
    tron_grid_proxy.fault = answers("gettransactioninfobyid", lambda told: told | {"log": [odd, *told["log"]]})
    [told] = tron_grid.transfers(KEYS, *solidified(tron_adapter))
    assert (told.units, told.position) == (25, 1)


def test_a_malformed_answer_is_told_as_one(tron_grid: TronGridSource, tron_grid_proxy: HttpProxy) -> None:
    tron_grid_proxy.fault = lambda target, answer: Answer(b'{"blockID": 7}')
    block = BlockRef(0, "", "", NOON)
    with pytest.raises(MalformedAnswerError):
        tron_grid.transfers(KEYS, block, block)
    assert tron_grid.requests == 1
