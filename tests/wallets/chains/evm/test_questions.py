"""How nodes of EVM chains and Tron are asked for logs."""

from tests.wallets.chains.tron.test_dialect import KEY
from wallets.chains.base import Hint
from wallets.chains.evm.decode import PADDING
from wallets.chains.evm.questions import LogsQuestion
from wallets.chains.tron.dialect import TRON


def test_a_recipient_is_named_with_and_without_trons_prefix_byte() -> None:
    question = LogsQuestion(["0xa6"], Hint(frozenset({KEY})), dialect=TRON)
    [(_, [asked])] = question.by_range(0, 1)
    assert asked["topics"][2] == [f"{PADDING}{KEY.hex()}", f"{PADDING[:-2]}41{KEY.hex()}"]
