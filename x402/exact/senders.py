"""Scheme `upto`: the accounts of ours that payers may name. Only the named account can settle a payment."""

from collections.abc import Mapping, Sequence
from typing import Final

from accounts.states import Mode
from settlements.gas.keys import gas_keys
from settlements.gas.ledger import addresses_in_use

TEST_FACILITATOR: Final = "0xf1041400000000000000000000000000007E5700"
"""The account that payers name to test keys, which touch no chain. It has no key."""


def senders_of(chain: str, mode: Mode, *, settling: bool = False) -> Sequence[str]:
    """Return the accounts that settle on a chain: of GAS_KEYS those that are not retired there.

    With `settling` retired ones too: what was verified before is served already.
    """
    if mode == Mode.TEST:
        return [TEST_FACILITATOR]
    return list(gas_keys()) if settling else addresses_in_use(chain)


def sender_extra(merchant_id: int, chain: str, mode: Mode) -> Mapping[str, str] | None:
    """Return the standard's `extra` with the account that a merchant's payers name; None if there is none."""
    found = senders_of(chain, mode)
    # The same for all requests of a merchant: one server may receive a payment that another one asked for.
    return {"facilitatorAddress": found[merchant_id % len(found)]} if found else None
