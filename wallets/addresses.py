"""Addresses as people's wallets show them, whatever the chain.

Each family reads its own (`wallets.chains`). Whether one is a good place for a merchant's money is another question: see
`wallets.receiving.traps`.
"""

from wallets.chains import registry


def shown_address(address: str) -> str:
    """Return an address as people's wallets show it: on TON without the mark of a contract (non-bounceable), elsewhere as it is.

    For people only: what is stored, compared and told by the API is canonical. Any text may come, and is returned as it is.
    """
    for family in registry.FAMILIES:
        shown = family.shown_address(address)
        if shown is not None:
            return shown
    return address
