"""Which token accounts count as an owner's balance on Solana."""

import base64
from typing import Any

import pytest

from wallets.chains.base import MalformedAnswerError
from wallets.chains.solana.balances import held
from wallets.chains.solana.decode import TOKEN_PROGRAM


def token_account(owner: bytes, mint: bytes, units: int, *, state: int = 1) -> Any:
    """A token account as a node tells it."""
    data = mint + owner + units.to_bytes(8, "little") + bytes(36)
    data += bytes([state]) + bytes(56)
    body = base64.b64encode(data).decode()
    return {"owner": TOKEN_PROGRAM, "data": [body, "base64"]}


OWNER, MINT, STRANGER = b"\x01" * 32, bytes(32), b"\x02" * 32


MINT_NAME = "1" * 32


@pytest.mark.parametrize(
    ("account", "units"),
    [
        pytest.param(None, 0, id="none"),
        pytest.param(token_account(OWNER, MINT, 2**64 - 1), 2**64 - 1, id="full"),
        pytest.param(token_account(STRANGER, MINT, 5), 0, id="handed over"),
        pytest.param(token_account(OWNER, MINT, 5, state=0), 0, id="not set up"),
        pytest.param({"owner": "1" * 32, "data": ["", "base64"]}, 0, id="only coins"),
    ],
)
def test_a_token_account_counts_only_where_it_is_the_owners(account: Any, units: int) -> None:
    assert held(account, owner=OWNER, mint=MINT_NAME, program=TOKEN_PROGRAM) == units


@pytest.mark.parametrize(
    "account",
    [
        pytest.param(7, id="no object"),
        pytest.param({"owner": TOKEN_PROGRAM}, id="no data"),
        pytest.param({"owner": TOKEN_PROGRAM, "data": ["AAAA", "base64"]}, id="short"),
        pytest.param({"owner": TOKEN_PROGRAM, "data": ["*", "base64"]}, id="no base64"),
        pytest.param(token_account(OWNER, STRANGER, 5), id="another token"),
    ],
)
def test_an_impossible_token_account_is_refused(account: Any) -> None:
    with pytest.raises(MalformedAnswerError):
        held(account, owner=OWNER, mint=MINT_NAME, program=TOKEN_PROGRAM)
