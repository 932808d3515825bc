"""Writing the transaction that pays a checkout on Solana, for the payer's wallet to sign. No node is asked here.

Solana Pay's transfer request (https://docs.solanapay.com/spec) says what one looks like: a `transferChecked` between
associated token accounts, with the reference among its accounts.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from wallets.chains.solana_decode import ASSOCIATED_TOKEN_PROGRAM
from wallets.chains.solana_questions import token_account

# Slow to import: nothing but a buyer's press of a button needs it in a web process.
if TYPE_CHECKING:
    from solders.instruction import Instruction

# The programs' own numbers for these instructions.
_TRANSFER_CHECKED: Final = 12
_CREATE_IDEMPOTENT: Final = 1
# Making an account was measured at 14,000 to 27,000 units, by how long its address is searched for; a transfer takes 7,000
# at most. The rest is room for what the programs come to need.
_TRANSFER_UNITS: Final = 40_000
_ACCOUNT_UNITS: Final = 60_000


@dataclass(frozen=True, slots=True)
class TokenPayment:
    """One payment. Keys are base58; `program` is who keeps the token `mint`, `reference` has 32 bytes."""

    payer: str
    recipient: str
    mint: str
    program: str
    decimals: int
    units: int
    reference: bytes


def is_wallet(account: str) -> bool:
    """Whether somebody may hold the key of an account (base58, 32 bytes): programs derive theirs off the curve."""
    from solders.pubkey import Pubkey

    return Pubkey.from_string(account).is_on_curve()


def unsigned_payment(
    payment: TokenPayment, *, blockhash: str, makes_account: bool
) -> bytes:
    """Return a legacy transaction with room for the payer's signature, as wallets take one over the wire.

    The payer bears all costs; with `makes_account` that is also the rent of the recipient's token account.
    """
    from solders.compute_budget import set_compute_unit_limit
    from solders.hash import Hash
    from solders.message import Message
    from solders.pubkey import Pubkey
    from solders.transaction import Transaction

    units = _TRANSFER_UNITS + (_ACCOUNT_UNITS if makes_account else 0)
    # What the network's haste is worth, the wallet knows: it adds a price where none is set.
    instructions = [
        set_compute_unit_limit(units),
        *([_account_making(payment)] if makes_account else []),
        _transfer(payment),
    ]
    message = Message.new_with_blockhash(
        instructions,
        Pubkey.from_string(payment.payer),
        Hash.from_string(blockhash),
    )
    return bytes(Transaction.new_unsigned(message))


def _account_making(payment: TokenPayment) -> "Instruction":
    """Make the recipient's token account unless somebody has made it meanwhile."""
    from solders.instruction import AccountMeta, Instruction
    from solders.pubkey import Pubkey
    from solders.system_program import ID as SYSTEM_PROGRAM

    payer, recipient, mint, program = map(
        Pubkey.from_string,
        (payment.payer, payment.recipient, payment.mint, payment.program),
    )
    account = Pubkey.from_string(_account_of(payment, payment.recipient))
    accounts = [
        AccountMeta(payer, is_signer=True, is_writable=True),
        AccountMeta(account, is_signer=False, is_writable=True),
        *(
            AccountMeta(key, is_signer=False, is_writable=False)
            for key in (recipient, mint, SYSTEM_PROGRAM, program)
        ),
    ]
    return Instruction(
        Pubkey.from_string(ASSOCIATED_TOKEN_PROGRAM),
        bytes([_CREATE_IDEMPOTENT]),
        accounts,
    )


def _transfer(payment: TokenPayment) -> "Instruction":
    """Move the units; the reference is read and changes nothing, but names the payment to whoever lists it."""
    from solders.instruction import AccountMeta, Instruction
    from solders.pubkey import Pubkey

    source, mint, target, owner = map(
        Pubkey.from_string,
        (
            _account_of(payment, payment.payer),
            payment.mint,
            _account_of(payment, payment.recipient),
            payment.payer,
        ),
    )
    data = (
        bytes([_TRANSFER_CHECKED])
        + payment.units.to_bytes(8, "little")
        + bytes([payment.decimals])
    )
    accounts = [
        AccountMeta(source, is_signer=False, is_writable=True),
        AccountMeta(mint, is_signer=False, is_writable=False),
        AccountMeta(target, is_signer=False, is_writable=True),
        AccountMeta(owner, is_signer=True, is_writable=False),
        AccountMeta(
            Pubkey.from_bytes(payment.reference), is_signer=False, is_writable=False
        ),
    ]
    return Instruction(Pubkey.from_string(payment.program), data, accounts)


def _account_of(payment: TokenPayment, owner: str) -> str:
    return token_account(owner, mint=payment.mint, program=payment.program)
