"""Solana's programs, and the instructions that payments are made of."""

from collections.abc import Sequence
from typing import Final

from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey
from solders.system_program import CreateAccountParams
from solders.system_program import create_account as create_system_account

TOKEN: Final = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022: Final = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
ASSOCIATED: Final = Pubkey.from_string("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
MEMO: Final = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
LOOKUP_TABLES: Final = Pubkey.from_string("AddressLookupTab1e1111111111111111111111111")
CLOCK: Final = Pubkey.from_string("SysvarC1ock11111111111111111111111111111111")
SYSTEM: Final = Pubkey.default()

_MINT_TO, _TRANSFER_CHECKED, _INITIALIZE_MINT, _TRANSFER_FEE = 7, 12, 20, 26
_CREATE_IDEMPOTENT = 1
_FEE_MINT_BYTES = 278


def token_account(owner: Pubkey, mint: Pubkey, program: Pubkey = TOKEN) -> Pubkey:
    """The associated token account of an owner."""
    seeds = [bytes(owner), bytes(program), bytes(mint)]
    return Pubkey.find_program_address(seeds, ASSOCIATED)[0]


def create_account(payer: Pubkey, owner: Pubkey, mint: Pubkey, *, program: Pubkey) -> Instruction:
    """Make the owner's associated token account where it is missing, at the payer's cost."""
    accounts = [
        AccountMeta(payer, is_signer=True, is_writable=True),
        _written(token_account(owner, mint, program)),
        *(_read(key) for key in (owner, mint, SYSTEM, program)),
    ]
    return Instruction(ASSOCIATED, bytes([_CREATE_IDEMPOTENT]), accounts)


def transfer(
    source: Pubkey,
    target: Pubkey,
    units: int,
    *,
    owner: Pubkey,
    mint: Pubkey,
    program: Pubkey,
    decimals: int = 6,
    references: Sequence[Pubkey] = (),
) -> Instruction:
    """Move units from one token account to another; `references` are added as Solana Pay has it."""
    data = bytes([_TRANSFER_CHECKED]) + units.to_bytes(8, "little") + bytes([decimals])
    accounts = [
        _written(source),
        _read(mint),
        _written(target),
        AccountMeta(owner, is_signer=True, is_writable=False),
        *(_read(reference) for reference in references),
    ]
    return Instruction(program, data, accounts)


def mint_to(account: Pubkey, units: int, *, mint: Pubkey, authority: Pubkey, program: Pubkey) -> Instruction:
    """Make new units."""
    accounts = [_written(mint), _written(account), AccountMeta(authority, is_signer=True, is_writable=False)]
    data = bytes([_MINT_TO]) + units.to_bytes(8, "little")
    return Instruction(program, data, accounts)


def create_fee_mint(payer: Pubkey, mint: Pubkey, *, basis_points: int, lamports: int) -> list[Instruction]:
    """Make a Token-2022 mint that keeps a part of each transfer back; payer and mint sign. `lamports` are its rent."""
    account = CreateAccountParams(
        from_pubkey=payer, to_pubkey=mint, lamports=lamports, space=_FEE_MINT_BYTES, owner=TOKEN_2022
    )
    most = (2**64 - 1).to_bytes(8, "little")
    fee = bytes([_TRANSFER_FEE, 0, 0, 0]) + basis_points.to_bytes(2, "little") + most
    begin = bytes([_INITIALIZE_MINT, 6]) + bytes(payer) + bytes(1)
    return [
        create_system_account(account),
        Instruction(TOKEN_2022, fee, [_written(mint)]),
        Instruction(TOKEN_2022, begin, [_written(mint)]),
    ]


def memo(text: str) -> Instruction:
    """Add a memo to a transaction."""
    return Instruction(MEMO, text.encode(), [])


def _written(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, is_signer=False, is_writable=True)


def _read(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, is_signer=False, is_writable=False)
