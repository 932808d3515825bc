"""What a Solana address is, by the account at it: who owns it, and what it holds."""

from typing import Any, Final

from wallets.chains.accounts import AccountKind
from wallets.chains.rpc.client import Node
from wallets.chains.solana import decode
from wallets.chains.solana.transactions import is_wallet

_SYSTEM: Final = "1" * 32
# The layouts are in the source of the SPL token programs: a mint has 82 bytes, a token account 165, a multisig 355. With
# extensions (Token-2022) a byte after the first 165 says which it is.
_MINT_LENGTH: Final = 82
_BASE_LENGTH: Final = 165
_MULTISIG_LENGTH: Final = 355
_MINT_TYPE: Final = 1


def ask_kind(node: Node, address: str) -> AccountKind:
    """Return what is at an address. Raises ChainError."""
    options = {"commitment": "confirmed", "encoding": "base64"}
    _, account = decode.in_context(node.call("getAccountInfo", [address, options]))
    return _kind(account, has_key=is_wallet(address))


def _kind(account: Any, *, has_key: bool) -> AccountKind:
    if account is None:
        return AccountKind.WALLET if has_key else AccountKind.EMPTY
    owner = decode.key(decode.field(account, "owner"))
    is_program = decode.field(account, "executable")
    if type(is_program) is not bool:
        decode.refuse("whether an account is a program is neither true nor false")
    if is_program:
        return AccountKind.PROGRAM
    if owner in decode.TOKEN_PROGRAMS:
        return _token_kind(decode.account_data(account))
    if owner != _SYSTEM:
        return AccountKind.PROGRAM
    # A vault is a plain account at an address that a program derives, and signs for.
    return AccountKind.WALLET if has_key else AccountKind.CONTRACT_WALLET


def _token_kind(data: bytes) -> AccountKind:
    if len(data) == _MULTISIG_LENGTH:
        return AccountKind.CONTRACT_WALLET
    if len(data) == _MINT_LENGTH or data[_BASE_LENGTH : _BASE_LENGTH + 1] == bytes([_MINT_TYPE]):
        return AccountKind.TOKEN
    return AccountKind.TOKEN_ACCOUNT
