"""Addresses in the form that wallets show, for any chain.

Each family reads its own (`wallets.chains`). `wallets.receiving.traps` checks whether an address is safe to receive money.
"""

from wallets.chains import registry


def shown_address(address: str) -> str:
    """Return an address as people's wallets show it: on TON without the mark of a contract (non-bounceable), elsewhere as it is.

    For display only: stored, compared and API addresses are canonical. Other text is returned unchanged.
    """
    for family in registry.FAMILIES:
        shown = family.shown_address(address)
        if shown is not None:
            return shown
    return address
