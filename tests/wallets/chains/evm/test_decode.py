"""Transfer events as EVM nodes and Tron's tell them."""

from demo.localnet.tron import USDT
from tests.wallets.chains.tron.test_dialect import KEY
from wallets.chains.evm.decode import sided_logs, transfer_logs
from wallets.chains.tron.dialect import TRON, contract


def test_a_topic_with_trons_prefix_byte_names_the_same_recipient() -> None:
    usdt = contract(USDT)
    word = "0x" + "ab" * 32
    log = {
        "address": usdt,
        "topics": [
            "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
            f"0x{'0' * 22}41{'11' * 20}",
            f"0x{'0' * 22}41{KEY.hex()}",
        ],
        "data": f"0x{25:064x}",
        "transactionHash": word,
        "blockHash": word,
        "blockNumber": "0x1",
        "logIndex": "0x0",
        "removed": False,
    }
    [sided] = sided_logs([log])
    [read] = transfer_logs([sided.told], tokens={usdt: None}, paddings=TRON.paddings)
    sides = b"\x11" * 20, KEY
    assert (read.sender, read.recipient) == (sided.sender, sided.recipient) == sides
