"""A wallet of TON Connect: it carries out a `sendTransaction` of its owner on a local node."""

import base64
from typing import Any

from tonsdk.boc import Cell
from tonsdk.utils import Address

from localnet.ton.messages import Envelope, TonWallet
from localnet.ton.node import TonNode


def carry_out(node: TonNode, request: dict[str, Any], payer: TonWallet | None = None) -> None:
    """Sign and send what is asked of a payer, by default the node's. Raises AssertionError where a wallet would refuse."""
    wallet = payer or node.payer
    assert request["from"] == Address(wallet.address).to_string(is_user_friendly=False)
    assert request["network"] == "-3"
    envelopes = [
        Envelope(one["address"], int(one["amount"]), Cell.one_from_boc(base64.b64decode(one["payload"])))
        for one in request["messages"]
    ]
    node.send_envelopes(envelopes, payer=wallet)
