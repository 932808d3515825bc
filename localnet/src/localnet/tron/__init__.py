"""A stand-in for a Tron node: an anvil behind the interfaces, limits and words of java-tron and TronGrid.

No Tron node can be installed from a package registry, so blocks, contracts and logs come from a real EVM, and what lies
between it and us is our own reading of java-tron's source and TronGrid's documentation. What it cannot show: energy and
fees, transaction ids made of Tron's own bytes, and block ids that begin with the height.
"""

from localnet.tron.node import TRON_CHAIN_ID, USDT, TronNode
from localnet.tron.rules import Rules

__all__ = ["TRON_CHAIN_ID", "USDT", "Rules", "TronNode"]
