"""What the page of receiving wallets says about each chain."""

import pytest

from wallets.dashboard.rows import marked


@pytest.mark.parametrize("address", ["0x" + "ab" * 20, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"])
def test_both_ends_of_an_address_are_marked_and_nothing_is_lost(address: str) -> None:
    shown = marked(address)
    assert str(shown) == address
    assert address.startswith(shown.first)
    assert address.endswith(shown.last)
    assert len(shown.last) == 6
