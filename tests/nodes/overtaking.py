"""Transactions that get into their block before all others."""

from localnet.anvil import Anvil

_DEAR = 10**12


def overtake(node: Anvil, to: str, data: bytes, *, account: int = 5, sender: str = "") -> str:
    """Send a call by one of the node's own accounts, or by a `sender`, for so much that it comes first; return its hash."""
    sent: str = node.rpc(
        "eth_sendTransaction",
        {
            "from": sender or node.accounts[account].address,
            "to": to,
            "data": "0x" + data.hex(),
            "gas": hex(1_000_000),
            "maxFeePerGas": hex(2 * _DEAR),
            "maxPriorityFeePerGas": hex(_DEAR),
        },
    )
    return sent
