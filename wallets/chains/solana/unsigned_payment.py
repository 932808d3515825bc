"""Builds the transaction that pays a checkout on Solana, for the payer's wallet to sign, and asks nodes what that needs."""

import base64
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from cachetools import TTLCache, cachedmethod

from wallets.chains.base import MalformedAnswerError
from wallets.chains.family import NotEnoughError, PaymentOrder, PreparedPayment, TransactionRefusedError
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import decode
from wallets.chains.solana.questions import ask_programs, token_account

if TYPE_CHECKING:
    from solders.instruction import Instruction
    from solders.pubkey import Pubkey

# Creating an account was measured at 14,000 to 27,000 units, depending on the search for its address; a transfer takes at
# most 7,000. The rest is a reserve for later versions of the programs.
_TRANSFER_UNITS: Final = 40_000
_ACCOUNT_UNITS: Final = 60_000

SPONSORED_PRICE: Final = 50_000
"""The priority price of a transaction whose fee we pay, in millionths of a lamport for each unit: usual on a quiet network."""

_SIGNATURE_FEE: Final = 5_000  # lamports, for each signature
_MICRO: Final = 1_000_000

SPONSORED_FEE: Final = 2 * _SIGNATURE_FEE + _TRANSFER_UNITS * SPONSORED_PRICE // _MICRO
"""What such a transaction costs us, in lamports."""

BLOCKHASH_SECONDS: Final = 5.0
"""How long a blockhash is reused: a transaction must land within about a minute of it."""
FORGOTTEN_AFTER: Final = timedelta(seconds=90)
"""About how long the network takes a transaction: 150 blocks, most of which take less than half a second."""

_MOST_HEIGHT: Final = 2**63 - 1
# Short, because a buyer waits for the answer.
_ANSWER_SECONDS: Final = 4.0
# A token account begins with its mint, its owner and its balance, in eight bytes.
_SLICE: Final = {"offset": 0, "length": 72}
_BALANCE: Final = slice(64, 72)


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


def sponsored_payment(payment: TokenPayment, *, blockhash: str, fee_payer: str) -> bytes:
    """Return the same transfer with room for two signatures: first that of the account that pays the network, then the payer's.

    No instruction names the fee payer, and all costs are set: it loses its fee and nothing else.
    """
    from solders.compute_budget import set_compute_unit_limit, set_compute_unit_price
    from solders.hash import Hash
    from solders.message import Message
    from solders.pubkey import Pubkey
    from solders.transaction import Transaction

    instructions = [
        set_compute_unit_limit(_TRANSFER_UNITS),
        set_compute_unit_price(SPONSORED_PRICE),
        _transfer(payment),
    ]
    message = Message.new_with_blockhash(instructions, Pubkey.from_string(fee_payer), Hash.from_string(blockhash))
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
    """Return the instruction that creates the recipient's token account, unless it exists by then."""
    from spl.token.instructions import create_idempotent_associated_token_account

    return create_idempotent_associated_token_account(*_keys(payment))


def _transfer(payment: TokenPayment) -> "Instruction":
    """Return the instruction that moves the units. Its read-only reference identifies the payment in listings."""
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


class SolanaCashier:
    """Prepares payments. Not thread-safe. Each costs two requests, or one while the blockhash is reused."""

    def __init__(self, pool: RpcPool, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = pool
        self._programs: dict[str, str] = {}
        self._blockhashes: TTLCache[object, _Recent] = TTLCache(1, BLOCKHASH_SECONDS, clock)

    def prepare(self, order: PaymentOrder) -> bytes:
        """Return the transaction for the payer to sign. Raises ChainError, and NotEnoughError."""
        return self._prepared(order)[0]

    def _prepared(self, order: PaymentOrder) -> tuple[bytes, int]:
        """Return the transaction, and the last block height that takes it."""
        payment, has_account = self._payment(order)
        recent = self._recent()
        raw = unsigned_payment(payment, blockhash=recent.blockhash, makes_account=not has_account)
        return raw, recent.last_height

    def prepare_sponsored(self, order: PaymentOrder, *, fee_payer: str) -> tuple[bytes, int]:
        """Return the transaction whose fee another account pays, and the last block height that takes it.

        Raises ChainError, NotEnoughError, and TransactionRefusedError if the recipient has no token account: its rent would be ours.
        """
        payment, has_account = self._payment(order)
        if not has_account:
            raise TransactionRefusedError("the recipient has no account for this token yet")
        recent = self._recent()
        return sponsored_payment(payment, blockhash=recent.blockhash, fee_payer=fee_payer), recent.last_height

    def token_account_of(self, owner: str, mint: str) -> str:
        """Return the address of an owner's token account. Raises ChainError."""
        return token_account(owner, mint=mint, program=self._program(mint))

    def _payment(self, order: PaymentOrder) -> tuple[TokenPayment, bool]:
        """Return the payment, and whether the recipient's token account exists."""
        mint = order.token.address
        program = self._program(mint)
        accounts = [token_account(owner, mint=mint, program=program) for owner in (order.payer, order.recipient)]
        held, received = self._pool.run(lambda node: _balances(node, accounts))
        if held is None or held < order.units:
            raise NotEnoughError
        payment = TokenPayment(
            payer=order.payer,
            recipient=order.recipient,
            mint=mint,
            program=program,
            decimals=order.token.decimals,
            units=order.units,
            reference=order.reference,
        )
        return payment, received is not None

    def prepare_payments(
        self, orders: Sequence[PaymentOrder], *, now: datetime, until: datetime
    ) -> list[PreparedPayment]:
        """Return the one order's transaction in base64; the network forgets it within about a minute."""
        [order] = orders
        transaction, last_height = self._prepared(order)
        written = base64.b64encode(transaction).decode()
        return [PreparedPayment(written, valid_until=now + FORGOTTEN_AFTER, last_height=last_height)]

    def send(self, raw: bytes, signature: bytes) -> None:
        """Raise TransactionRefusedError: wallets on Solana send their own transactions."""
        raise TransactionRefusedError("the wallet sends it")

    def passed(self, last_height: int) -> datetime | None:
        """Return the time of the newest final block if it is above a height; else None. Raises ChainError."""
        return self._pool.run(lambda node: _final_above(node, last_height))

    def _program(self, mint: str) -> str:
        if mint not in self._programs:
            found = self._pool.run(lambda node: ask_programs(node, [mint]))
            self._programs |= found
        return self._programs[mint]

    @cachedmethod(lambda self: self._blockhashes)
    def _recent(self) -> "_Recent":
        return self._pool.run(_blockhash)


def _balances(node: Node, accounts: Sequence[str]) -> list[int | None]:
    """Return token accounts' balances; None for one that does not exist."""
    options = {"commitment": "confirmed", "encoding": "base64", "dataSlice": _SLICE}
    asked = [list(accounts), options]
    answer = node.call("getMultipleAccounts", asked, seconds=_ANSWER_SECONDS)
    found = decode.items(decode.in_context(answer)[1])
    if len(found) != len(accounts):
        raise MalformedAnswerError("as many accounts came as were not asked for")
    return [_balance(account) for account in found]


def _balance(account: Any) -> int | None:
    # Anyone may have sent coins to the address before it becomes a token account.
    if account is None or _owner(account) not in decode.TOKEN_PROGRAMS:
        return None
    data = decode.account_data(account)
    if len(data) != _SLICE["length"]:
        raise MalformedAnswerError("a token account is not a token account")
    return int.from_bytes(data[_BALANCE], "little")


def _owner(account: Any) -> str:
    return decode.key(decode.field(account, "owner"))


@dataclass(frozen=True, slots=True)
class _Recent:
    """A recent blockhash, and the last block height that takes a transaction with it."""

    blockhash: str
    last_height: int


def _blockhash(node: Node) -> _Recent:
    answer = node.call("getLatestBlockhash", [{"commitment": "confirmed"}], seconds=_ANSWER_SECONDS)
    told = decode.in_context(answer)[1]
    last_height = decode.integer(decode.field(told, "lastValidBlockHeight"), most=_MOST_HEIGHT)
    return _Recent(decode.key(decode.field(told, "blockhash")), last_height)


def _final_above(node: Node, last_height: int) -> datetime | None:
    info = node.call("getEpochInfo", [{"commitment": "finalized"}], seconds=_ANSWER_SECONDS)
    height, slot = (
        decode.integer(decode.field(info, name), most=_MOST_HEIGHT) for name in ("blockHeight", "absoluteSlot")
    )
    if height <= last_height:
        return None
    return decode.time(node.call("getBlockTime", [slot], seconds=_ANSWER_SECONDS))
