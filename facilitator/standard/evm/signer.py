"""Our gas account as the library wants one: what it writes goes through the ledger, once for each authorisation.

The library turns every exception of a signer into a code of its own. What it cannot know, that a node was away or that
gas is too dear, is kept here for whoever asks afterwards.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from django.db import transaction

from facilitator.models import Authorization
from facilitator.standard import reasons
from facilitator.standard.authorizations import adopt
from facilitator.standard.errors import (
    BalanceUnknownError,
    OverdrawnError,
    ReceiptMissingError,
    RevertedError,
    TakenElsewhereError,
)
from facilitator.standard.evm import contracts, permit2
from facilitator.standard.evm.nodes import gas_node_of
from facilitator.standard.inputs import Clock, StandardRequest
from facilitator.standard.promises import (
    Balance,
    must_ask_balance,
    refuse_overdrawn,
)
from facilitator.standard.sharing import refuse_greedy
from settlements.errors import NoGasError
from settlements.gas.keys import gas_keys
from settlements.gas.node import GasNode, Receipt
from settlements.models import GasAttempt, GasTransaction
from settlements.services.broadcasting import (
    broadcast,
    find_receipt,
)
from settlements.services.ledger import GasCall, intend
from settlements.states import Purpose
from wallets.chains.base import ChainError
from wallets.chains.pool import RpcPool
from wallets.chains.registry import ChainSpec

if TYPE_CHECKING:
    from x402.mechanisms.evm.types import TransactionReceipt

_FIRST_PAUSES: Final = (0.003, 0.005, 0.01)
# Storage of the token may have changed before the transaction's turn comes.
_SPARE_GAS: Final = 1.25
# A payer's smart wallet runs code of its own on our gas.
_MOST_GAS: Final = 500_000


Trouble: TypeAlias = ChainError | NoGasError | OverdrawnError | TakenElsewhereError


class LedgerSigner:
    """The library's FacilitatorEvmSigner over a chain's nodes and the ledger of gas accounts.

    `claim` returns the authorisation's row, ours for now, or raises TakenElsewhereError; it is asked when the library is
    content with the signature and something is to be sent.
    """

    def __init__(
        self,
        spec: ChainSpec,
        pool: RpcPool,
        *,
        claim: Callable[[], Authorization],
        clock: Clock,
    ) -> None:
        self._spec = spec
        self._pool = pool
        self._claim = claim
        self._clock = clock
        self.row: Authorization | None = None
        self.receipt: Receipt | None = None
        self.trouble: Trouble | None = None

    def get_addresses(self) -> list[str]:
        """Return our gas accounts."""
        return list(gas_keys())

    def get_chain_id(self) -> int:
        """Return the chain's id, which its nodes were asked for when they were first used."""
        return self._spec.chain_id or 0

    def get_code(self, address: str) -> bytes:
        """Return a contract's code; empty for an account without."""
        try:
            return contracts.code_of(self._pool, address)
        except ChainError as error:
            self.trouble = error
            raise

    def get_balance(self, address: str, token_address: str) -> int:
        """Return what an address holds of a token, in base units."""
        from x402.mechanisms.evm.constants import BALANCE_OF_ABI

        return int(
            self.read_contract(token_address, BALANCE_OF_ABI, "balanceOf", address)
        )

    def read_contract(
        self, address: str, abi: list[dict[str, Any]], function_name: str, *args: Any
    ) -> Any:
        """Ask a contract."""
        try:
            return contracts.read(self._pool, address, abi, function_name, *args)
        except ChainError as error:
            self.trouble = error
            raise

    def verify_typed_data(
        self,
        address: str,
        domain: Any,
        types: dict[str, Any],
        primary_type: str,
        message: dict[str, Any],
        signature: bytes,
    ) -> bool:
        """Whether a signature is the address's, as a contract would judge it."""
        from x402.mechanisms.evm.verify import verify_typed_data_strict

        return verify_typed_data_strict(
            self, address, domain, types, primary_type, message, signature
        )

    def write_contract(
        self,
        address: str,
        abi: list[dict[str, Any]],
        function_name: str,
        *args: Any,
        data_suffix: str | None = None,
    ) -> str:
        """Send a call; return the hash of its first attempt. Raises for whatever keeps it from being written down."""
        suffix = bytes.fromhex((data_suffix or "").removeprefix("0x"))
        data = contracts.encode_call(abi, function_name, *args) + suffix
        try:
            self._expect_contract(address)
            self.row = self._claim()
            return self._send(self.row, address, data, self._gas_for(address, data))
        except (
            ChainError,
            NoGasError,
            OverdrawnError,
            TakenElsewhereError,
        ) as error:
            self.trouble = error
            raise

    def rehearse(self, request: StandardRequest) -> str:
        """Return the standard's reason why Permit2 would refuse an authorisation now; "" where it would not.

        The library looks at its signature, the allowance and the balance alone.
        """
        try:
            return self._rehearsed(request)
        except ChainError as error:
            self.trouble = error
            return reasons.UNEXPECTED_VERIFY

    def send_transaction(self, to: str, data: bytes) -> str:
        """Deploy nobody's wallet: strangers' factories are not called."""
        raise NotImplementedError

    def wait_for_transaction_receipt(self, tx_hash: str) -> "TransactionReceipt":
        """Return the receipt of what was just sent. Raises ReceiptMissingError: it is waited for elsewhere."""
        from x402.mechanisms.evm.types import TransactionReceipt

        row = self.row
        if row is None or row.transaction is None:
            raise ReceiptMissingError(tx_hash)
        receipt = self.receipt = look_at_once(row, node=gas_node_of(self._spec))
        return TransactionReceipt(
            status=int(receipt.succeeded),
            block_number=receipt.height,
            tx_hash=receipt.tx_hash,
            logs=list(receipt.logs),
        )

    def _expect_contract(self, address: str) -> None:
        """Refuse a call of anything but our tokens and the standard's proxy. Raises RevertedError, ChainError."""
        if address in {token.address for token in self._spec.accepted_tokens}:
            return
        if address != permit2.PROXY:
            raise RevertedError("reverted: this contract is none of ours")
        contracts.expect_code(self._pool, address)

    def _rehearsed(self, request: StandardRequest) -> str:
        try:
            self._expect_contract(permit2.PROXY)
            self._gas_for(permit2.PROXY, permit2.call_of(request))
        except RevertedError:
            is_used = permit2.is_used(self._pool, request)
            return reasons.PERMIT2_NONCE if is_used else reasons.SIMULATION_FAILED
        return ""

    def _gas_for(self, address: str, data: bytes) -> int:
        """Return what a call may take. Raises RevertedError where that is not enough, ChainError."""
        sender = next(iter(gas_keys()), address)
        gas = contracts.estimate(self._pool, address, data, sender=sender)
        if gas > _MOST_GAS:
            raise RevertedError("reverted: it takes more gas than is paid for here")
        return min(int(gas * _SPARE_GAS), _MOST_GAS)

    def _send(self, row: Authorization, to: str, data: bytes, gas: int) -> str:
        node, now, call = gas_node_of(self._spec), self._clock(), GasCall(to, data, gas)
        refuse_greedy(row.merchant_id, self._spec.name, now=now)
        # Asked for here, so that the ledger's transaction below waits for no node.
        node.prices()
        balance = self._balance_of(row) if must_ask_balance(row, now=now) else None
        try:
            attempt = self._write(row, call, balance, now)
        except BalanceUnknownError:
            # Another payment of this payer was sent meanwhile.
            attempt = self._write(row, call, self._balance_of(row), now)
        # Whether it was taken is written down once it is in a block, or waits for longer than most.
        with suppress(ChainError):
            node.send(bytes(attempt.raw))
        return attempt.tx_hash

    def _write(
        self,
        row: Authorization,
        call: GasCall,
        balance: Balance | None,
        now: datetime,
    ) -> GasAttempt:
        """Write down what is sent, in one transaction with what the payer has open."""
        with transaction.atomic():
            refuse_overdrawn(row, balance, now=now)
            made = intend(
                self._spec.name,
                call,
                purpose=Purpose.X402,
                reference=reference_of(row),
                node=gas_node_of(self._spec),
                now=now,
            )
            return adopt(row, made, now=now)

    def _balance_of(self, row: Authorization) -> Balance:
        """Ask what a payer has at one block. Raises ChainError."""
        from x402.mechanisms.evm.constants import BALANCE_OF_ABI as ABI

        height = gas_node_of(self._spec).height()
        token, name = self._spec.tokens[row.token].address, "balanceOf"
        units = contracts.read(
            self._pool, token, ABI, name, row.payer, block=hex(height)
        )
        return Balance(int(units), height)


def reference_of(row: Authorization) -> str:
    """Return what the ledger calls an authorisation's transaction."""
    return str(row.pk)


def push(made: GasTransaction, *, node: GasNode, now: datetime) -> None:
    """Hand a transaction to the nodes. Written down it is, so that where none takes it now it is sent later."""
    with suppress(ChainError):
        broadcast(made, node=node, now=now)


def look(row: Authorization, made: GasTransaction, *, node: GasNode) -> Receipt:
    """Return a transaction's receipt. Raises ReceiptMissingError where it is in no block yet."""
    with suppress(ChainError):
        # By now it may have been sent again for more.
        if (receipt := find_receipt(made, node=node)) is not None:
            return receipt
    raise ReceiptMissingError(row.tx_hash)


def look_at_once(row: Authorization, *, node: GasNode) -> Receipt:
    """Look for a transaction that was sent just now: some chains, local ones among them, have it in a block at once.

    Raises ReceiptMissingError after some milliseconds.
    """
    for pause in _FIRST_PAUSES:
        time.sleep(pause)
        with suppress(ChainError):
            if (receipt := node.receipt(row.tx_hash)) is not None:
                return receipt
    raise ReceiptMissingError(row.tx_hash)
