"""What emptying a forwarder costs in a full batch, in gas: to one wallet, to as many as items, and for the second time.

Nothing here depends on the machine. The token has USDC's own functions; the real one stands behind a proxy, which costs 800 more
an item in a batch (measured once with such a proxy), and reads its block list.
"""

import secrets
from collections.abc import Sequence
from typing import Final

from benchmarks.report import Claim, Report, Series
from demo.nodes.factory import prepare_chain
from localnet.anvil import Anvil
from localnet.funding import payer
from localnet.tokens import deploy_contract, mint, transfer_many
from settlements.sweeps.plan import FACTORY, MOST_ITEMS, TRANSACTION_GAS, Item, batches, calldata, gas_of
from wallets.forwarders.addresses import checksum, deposit_key

TO_ONE: Final = 51_000
TO_MANY: Final = 75_000
_UNITS: Final = 25_000_000
# As much as a transaction may take (EIP-7825).
_MOST_GAS: Final = 2**24


def run(*, rounds: int, seconds: float) -> list[Report]:
    """Measure; one round is enough, as gas is the same each time."""
    del rounds, seconds
    with Anvil(8453, extra=["--gas-limit", "60000000"]) as node:
        prepare_chain(node)
        token = deploy_contract(node, "Usdc")
        mint(node, token, payer(node).address, 10**15)
        to_one = _batch([secrets.token_bytes(20)] * MOST_ITEMS)
        # Wallets that never held the token: the dearest ones.
        to_many = _batch([secrets.token_bytes(20) for _ in range(MOST_ITEMS)])
        first_to_one = _empty(node, token, to_one)
        first_to_many = _empty(node, token, to_many)
        again = _empty(node, token, to_many)
    return [_report(first_to_one, first_to_many, again, to_many)]


def _report(to_one: int, to_many: int, again: int, items: Sequence[Item]) -> Report:
    measured = {
        "first deposit, one wallet": to_one,
        "first deposit, 150 wallets": to_many,
        "next deposit, 150 wallets": again,
    }
    sizes = [len(batch) for batch in batches([*items, *items[:40]])]
    return Report(
        "sweeping",
        [Series(name, "gas", [used / MOST_ITEMS]) for name, used in measured.items()],
        [
            Claim("first deposit, to one wallet", to_one / MOST_ITEMS, TO_ONE, True),
            Claim("first deposit, to 150 wallets", to_many / MOST_ITEMS, TO_MANY, True),
            Claim("counted / used, to 150 wallets", gas_of(items) / to_many, 1.0),
        ],
        [
            f"{len(items) + 40} first deposits make batches of {sizes}",
            f"a batch is counted at {gas_of(items):,} gas, {TRANSACTION_GAS:,} of it for the transaction itself",
        ],
    )


def _batch(destinations: Sequence[bytes]) -> list[Item]:
    return [
        Item(
            deposit_id=number,
            merchant_id=number,
            purpose="checkout",
            destination=destination,
            nonce=secrets.token_bytes(32),
            units=_UNITS,
            is_deployed=False,
        )
        for number, destination in enumerate(destinations)
    ]


def _empty(node: Anvil, token: str, items: Sequence[Item]) -> int:
    """Pay every forwarder, empty them in one transaction, and return its gas."""
    payments = [(checksum(deposit_key(item.destination, item.nonce)), _UNITS) for item in items]
    transfer_many(node, payer(node), token, payments)
    data = calldata(items, bytes.fromhex(token[2:]))
    sent = node.send(node.accounts[3], to=FACTORY, data=data, gas=_MOST_GAS)
    receipt = node.receipt(sent)
    moved = sum(len(entry["topics"]) == 3 for entry in receipt["logs"])
    if moved != len(items):
        raise AssertionError(f"{moved} of {len(items)} forwarders were emptied")
    return int(receipt["gasUsed"], 16)
