"""Addresses in the form that wallets show, for any chain.

Each family parses its own addresses (`wallets.chains`). `wallets.receiving.service` checks whether an address is safe to receive money.
"""

from wallets.chains import registry


def shown_address(address: str) -> str:
    """Return an address as wallets show it: on TON in non-bounceable form, elsewhere unchanged.

    For display only: stored, compared and API addresses are canonical. Other text is returned unchanged.
    """
    for family in registry.FAMILIES:
        shown = family.shown_address(address)
        if shown is not None:
            return shown
    return address
