"""Addresses in the form that wallets show, for any chain.

Each family reads its own (`wallets.chains`). `wallets.receiving.traps` checks whether an address is safe to receive money.
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
