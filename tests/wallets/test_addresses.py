"""How addresses are shown to people."""

import pytest

from tests.wallets.chains.examples import EVM, SOLANA, TRON
from wallets.addresses import shown_address


@pytest.mark.parametrize("text", [EVM, SOLANA, TRON, "", "\x00", "A" * 48, "EQ"])
def test_any_other_text_is_shown_as_it_is(text: str) -> None:
    assert shown_address(text) == text
