"""Transfer events as EVM nodes and Tron's tell them."""

from typing import Any, Final

import pytest

from demo.localnet.tron import USDT
from tests.wallets.chains.tron.test_dialect import KEY
from wallets.chains.base import MalformedAnswerError, ReorgDuringReadError
from wallets.chains.evm.decode import PADDING, TRANSFER, sided_logs, transfer_log, transfer_logs
from wallets.chains.tron.dialect import TRON, contract

WORD: Final = "0x" + "ab" * 32
SENDER, RECIPIENT = PADDING + "11" * 20, PADDING + "22" * 20
NO_WORDS: Final[tuple[Any, ...]] = (None, 7, True, ["0x"], {}, "", "ab" * 32, WORD[:-1], WORD + "0")
SPACED: Final = f"0x{'ab' * 31} a"
NO_NUMBERS: Final[tuple[Any, ...]] = (None, 7, True, [], {}, "", "1", "0x", "0xg", "0x 1", "0x1_0")


def told(**fields: Any) -> dict[str, Any]:
    log = {
        "address": "0x" + "aA" * 20,
        "topics": [TRANSFER, SENDER, RECIPIENT],
        "data": f"0x{25:064x}",
        "transactionHash": WORD,
        "blockHash": WORD,
        "blockNumber": "0x1",
        "logIndex": "0x0",
        "removed": False,
    }
    return log | fields


def test_a_topic_with_trons_prefix_byte_names_the_same_recipient() -> None:
    usdt = contract(USDT)
    topics = [TRANSFER, f"0x{'0' * 22}41{'11' * 20}", f"0x{'0' * 22}41{KEY.hex()}"]
    [sided] = sided_logs([told(address=usdt, topics=topics)])
    [read] = transfer_logs([sided], tokens={usdt: None}, paddings=TRON.paddings)
    assert (read.sender, read.recipient) == sided[:2] == (b"\x11" * 20, KEY)


def test_a_log_is_read_in_lower_case() -> None:
    [sided] = sided_logs([told(transactionHash=WORD.replace("b", "B"))])
    read = transfer_log(sided)
    assert (read.tx_hash, read.block_hash) == (WORD, WORD)
    assert (read.token, read.units) == ("0x" + "aa" * 20, 25)
    assert (read.height, read.log_index) == (1, 0)
    assert (read.sender, read.recipient) == (b"\x11" * 20, b"\x22" * 20)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("transactionHash", (*NO_WORDS, SPACED)),
        ("blockHash", (*NO_WORDS, SPACED)),
        ("data", (*NO_WORDS, SPACED, f"0x{'ab' * 31}_a", f"0x{'ab' * 31}٣٣")),
        ("logIndex", NO_NUMBERS),
        ("blockNumber", NO_NUMBERS),
        ("address", (*NO_WORDS, WORD, "0x" + "aa" * 19, f"0x{'aa' * 19} a")),
    ],
)
def test_a_log_with_a_bad_field_is_refused(name: str, values: tuple[Any, ...]) -> None:
    for value in values:
        [sided] = sided_logs([told(**{name: value})])
        with pytest.raises(MalformedAnswerError):
            transfer_log(sided)
    lacking = told()
    del lacking[name]
    [sided] = sided_logs([lacking])
    with pytest.raises(MalformedAnswerError):
        transfer_log(sided)


@pytest.mark.parametrize(
    "topic",
    [
        *NO_WORDS,
        WORD,
        "0X" + SENDER[2:],
        SENDER[:-1] + "g",
        SENDER[:-1] + "٣",
        SENDER[:-2] + "  ",
        f"{PADDING} {'11' * 19} ",
        f"0x{'0' * 22}41{'11' * 20}",
        ["0"] * 66,
    ],
)
@pytest.mark.parametrize("place", [1, 2])
def test_a_log_with_a_bad_side_is_refused(topic: Any, place: int) -> None:
    topics: list[Any] = [TRANSFER, SENDER, RECIPIENT]
    topics[place] = topic
    with pytest.raises(MalformedAnswerError):
        transfer_logs(sided_logs([told(topics=topics)]), tokens={})


@pytest.mark.parametrize("logs", [None, {}, "0x", [None], ["log"], [[]], [{}]])
def test_an_answer_without_logs_is_refused(logs: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        sided_logs(logs)


def test_a_removed_log_is_a_reorganisation() -> None:
    [sided] = sided_logs([told(removed=True)])
    with pytest.raises(ReorgDuringReadError):
        transfer_log(sided)
