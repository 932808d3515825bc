"""Builds the transaction that pays a checkout on Solana, for the payer's wallet to sign. No node is asked here.

Solana Pay's transfer request (https://docs.solanapay.com/spec) defines it: a `transferChecked` between
associated token accounts, with the reference among its accounts.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

# Slow to import, and needed only when a buyer presses a button.
if TYPE_CHECKING:
    from solders.instruction import Instruction
    from solders.pubkey import Pubkey

# Creating an account was measured at 14,000 to 27,000 units, depending on the search for its address; a transfer takes at
# most 7,000. The rest is a reserve for later versions of the programs.
_TRANSFER_UNITS: Final = 40_000
_ACCOUNT_UNITS: Final = 60_000


@dataclass(frozen=True, slots=True)
class TokenPayment:
    """One payment. Keys are base58; `program` keeps the token `mint`, `reference` has 32 bytes."""

    payer: str
    recipient: str
    mint: str
    program: str
    decimals: int
    units: int
    reference: bytes


def is_wallet(account: str) -> bool:
    """Whether an account (base58, 32 bytes) can have a private key: programs derive theirs off the curve."""
    from solders.pubkey import Pubkey

    return Pubkey.from_string(account).is_on_curve()


def unsigned_payment(payment: TokenPayment, *, blockhash: str, makes_account: bool) -> bytes:
    """Return a legacy transaction with room for the payer's signature, in the wallets' wire format.

    The payer bears all costs; with `makes_account` that is also the rent of the recipient's token account.
    """
    from solders.compute_budget import set_compute_unit_limit
    from solders.hash import Hash
    from solders.message import Message
    from solders.pubkey import Pubkey
    from solders.transaction import Transaction

    units = _TRANSFER_UNITS + (_ACCOUNT_UNITS if makes_account else 0)
    # The wallet adds a priority price if none is set; it knows the current one.
    instructions = [
        set_compute_unit_limit(units),
        *([_account_making(payment)] if makes_account else []),
        _transfer(payment),
    ]
    message = Message.new_with_blockhash(instructions, Pubkey.from_string(payment.payer), Hash.from_string(blockhash))
    return bytes(Transaction.new_unsigned(message))


def _keys(payment: TokenPayment) -> "tuple[Pubkey, Pubkey, Pubkey, Pubkey]":
    """Return the payer's, the recipient's, the mint's and the program's keys."""
    from solders.pubkey import Pubkey

    return (
        Pubkey.from_string(payment.payer),
        Pubkey.from_string(payment.recipient),
        Pubkey.from_string(payment.mint),
        Pubkey.from_string(payment.program),
    )


def _account_making(payment: TokenPayment) -> "Instruction":
    """Create the recipient's token account unless it exists meanwhile."""
    from spl.token.instructions import create_idempotent_associated_token_account

    return create_idempotent_associated_token_account(*_keys(payment))


def _transfer(payment: TokenPayment) -> "Instruction":
    """Move the units; the reference is read-only, and identifies the payment in listings."""
    from solders.instruction import AccountMeta, Instruction
    from solders.pubkey import Pubkey
    from spl.token.instructions import get_associated_token_address, transfer_checked
    from spl.token.models import TransferCheckedParams

    payer, recipient, mint, program = _keys(payment)
    transfer = transfer_checked(
        TransferCheckedParams(
            program_id=program,
            source=get_associated_token_address(payer, mint, program),
            mint=mint,
            dest=get_associated_token_address(recipient, mint, program),
            owner=payer,
            amount=payment.units,
            decimals=payment.decimals,
        )
    )
    reference = AccountMeta(Pubkey.from_bytes(payment.reference), is_signer=False, is_writable=False)
    return Instruction(program, transfer.data, [*transfer.accounts, reference])
