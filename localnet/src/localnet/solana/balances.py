"""Token accounts, as bytes and as nodes write them."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from solders.account import Account
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey

from localnet.solana.programs import TOKEN, TOKEN_2022

_ACCOUNT_BYTES: Final = 165
_MINT_BYTES: Final = 82
# What follows where Token-2022 adds to a mint, which is filled up to the length of an account.
_EXTENDED_MINT: Final = b"\x01"


class TokenAccount(NamedTuple):
    """What a token account holds; `units` are base units."""

    mint: Pubkey
    owner: Pubkey
    units: int
    decimals: int
    program: Pubkey


def token_account_of(svm: LiteSVM, account: Account | None) -> TokenAccount | None:
    """Read a token account; None if it is anything else."""
    if account is None or account.owner not in (TOKEN, TOKEN_2022):
        return None
    data = bytes(account.data)
    if len(data) < _ACCOUNT_BYTES or data[_ACCOUNT_BYTES:][:1] == _EXTENDED_MINT:
        return None
    mint = svm.get_account(Pubkey(data[:32]))
    return TokenAccount(
        mint=Pubkey(data[:32]),
        owner=Pubkey(data[32:64]),
        units=int.from_bytes(data[64:72], "little"),
        decimals=bytes(mint.data)[44] if mint else 0,
        program=account.owner,
    )


def parsed_mint(account: Account) -> dict[str, Any] | None:
    """A mint as nodes write it in jsonParsed, without extensions; None if it is anything else."""
    data = bytes(account.data)
    if account.owner not in (TOKEN, TOKEN_2022) or len(data) < _MINT_BYTES:
        return None
    authority = str(Pubkey(data[4:36]))
    freezer = str(Pubkey(data[50:82])) if int.from_bytes(data[46:50], "little") else None
    info = {
        "mintAuthority": authority,
        "supply": str(int.from_bytes(data[36:44], "little")),
        "decimals": data[44],
        "isInitialized": bool(data[45]),
        "freezeAuthority": freezer,
    }
    program = "spl-token" if account.owner == TOKEN else "spl-token-2022"
    parsed = {"type": "mint", "info": info}
    return {"program": program, "space": len(data), "parsed": parsed}


def mint_data(authority: Pubkey, *, decimals: int) -> bytes:
    """Return the bytes of a new mint, without supply and without a freeze authority."""
    some, none = (1).to_bytes(4, "little"), bytes(4)
    return some + bytes(authority) + bytes(8) + bytes([decimals, 1]) + none + bytes(32)


def token_balances(svm: LiteSVM, accounts: Sequence[Account | None]) -> list[dict[str, Any]]:
    """The token accounts among a transaction's accounts, as nodes write them."""
    return [
        {
            "accountIndex": place,
            "mint": str(token.mint),
            "owner": str(token.owner),
            "programId": str(token.program),
            "uiTokenAmount": amount_json(token.units, token.decimals),
        }
        for place, account in enumerate(accounts)
        if (token := token_account_of(svm, account)) is not None
    ]


def amount_json(units: int, decimals: int) -> dict[str, Any]:
    """An amount as nodes write it, four times over."""
    amount = Decimal(units).scaleb(-decimals)
    return {
        "amount": str(units),
        "decimals": decimals,
        "uiAmount": float(amount),
        "uiAmountString": f"{amount.normalize():f}",
    }
