"""Our gas account as the library wants one: what it writes goes through the ledger, once for each authorisation.

The library turns every exception of a signer into a code of its own. What it cannot know, that a node was away or that
gas is too dear, is kept here for whoever asks afterwards.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction

from facilitator.models import Authorization
from facilitator.standard.authorizations import adopt, renew
from facilitator.standard.errors import (
    ReceiptMissingError,
    RevertedError,
    TakenElsewhereError,
)
from facilitator.standard.evm import contracts
from facilitator.standard.evm.nodes import gas_node_of
from facilitator.standard.inputs import Clock
from facilitator.standard.sharing import refuse_greedy
from settlements.errors import NoGasError
from settlements.gas.keys import gas_keys
from settlements.gas.node import GasNode, Receipt
from settlements.models import GasTransaction
from settlements.services.broadcasting import broadcast, find_receipt
from settlements.services.ledger import GasCall, intend
from settlements.states import Purpose, TransactionState
from wallets.chains.base import ChainError
from wallets.chains.pool import RpcPool
from wallets.chains.registry import ChainSpec
from wallets.networks import chain_spec

if TYPE_CHECKING:
    from x402.mechanisms.evm.types import TransactionReceipt

_ROUND_SECONDS: Final = 2.0
_FIRST_PAUSE: Final = 0.003
_LOOKS_IN_A_BLOCK: Final = 40
# One of so many questions that a chain's nodes allow is for one waiting settlement.
_SHARE: Final = 4
_ROUNDS: Final = 10
# Storage of the token may have changed before the transaction's turn comes.
_SPARE_GAS: Final = 1.25
# A payer's smart wallet runs code of its own on our gas.
_MOST_GAS: Final = 500_000


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
        self.trouble: ChainError | NoGasError | TakenElsewhereError | None = None

    def get_addresses(self) -> list[str]:
        """Return our gas accounts."""
        return list(gas_keys())

    def get_chain_id(self) -> int:
        """Return the chain's id, which its nodes were asked for when they were first used."""
        return self._spec.chain_id or 0

    def get_code(self, address: str) -> bytes:
        """Return a contract's code; empty for an account without."""
        try:
            answer = contracts.ask(self._pool, "eth_getCode", [address, "latest"])
            return contracts.hex_bytes(answer)
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
            gas = contracts.estimate(
                self._pool, address, data, sender=next(iter(gas_keys()), address)
            )
            return self._send(self.row, address, data, gas)
        except (ChainError, NoGasError, TakenElsewhereError) as error:
            self.trouble = error
            raise

    def send_transaction(self, to: str, data: bytes) -> str:
        """Deploy nobody's wallet: strangers' factories are not called."""
        raise NotImplementedError

    def wait_for_transaction_receipt(self, tx_hash: str) -> "TransactionReceipt":
        """Wait until one of the transaction's attempts is in a block. Raises ReceiptMissingError."""
        from x402.mechanisms.evm.types import TransactionReceipt

        row = self.row
        if row is None or row.transaction is None:
            raise ReceiptMissingError(tx_hash)
        receipt = self.receipt = wait(
            row, row.transaction, node=gas_node_of(self._spec), clock=self._clock
        )
        return TransactionReceipt(
            status=int(receipt.succeeded),
            block_number=receipt.height,
            tx_hash=receipt.tx_hash,
            logs=list(receipt.logs),
        )

    def _expect_contract(self, address: str) -> None:
        """Refuse a call of nothing: it succeeds, moves nothing, and is paid for. Raises RevertedError, ChainError."""
        known = {token.address for token in self._spec.accepted_tokens}
        if address not in known and not self.get_code(address):
            raise RevertedError("reverted: there is no such contract")

    def _send(self, row: Authorization, to: str, data: bytes, gas: int) -> str:
        node, now = gas_node_of(self._spec), self._clock()
        refuse_greedy(row.merchant_id, self._spec.name, now=now)
        # Asked for here, so that the ledger's transaction below waits for no node.
        node.prices()
        with transaction.atomic():
            made = intend(
                self._spec.name,
                GasCall(to, data, min(int(gas * _SPARE_GAS), _MOST_GAS)),
                purpose=Purpose.X402,
                reference=reference_of(row),
                node=node,
                now=now,
            )
            attempt = adopt(row, made, now=now)
        # Whether it was taken is written down once it is in a block, or waits for longer than most.
        with suppress(ChainError):
            node.send(bytes(attempt.raw))
        return attempt.tx_hash


def reference_of(row: Authorization) -> str:
    """Return what the ledger calls an authorisation's transaction."""
    return str(row.pk)


def push(made: GasTransaction, *, node: GasNode, now: datetime) -> None:
    """Hand a transaction to the nodes. Written down it is, so that where none takes it now it is sent later."""
    with suppress(ChainError):
        broadcast(made, node=node, now=now)


def wait(
    row: Authorization, made: GasTransaction, *, node: GasNode, clock: Clock
) -> Receipt:
    """Wait for a transaction's receipt, staying the one who does. Raises ReceiptMissingError after twenty seconds."""
    longest = longest_pause(chain_spec(row.chain))
    for _ in range(_ROUNDS):
        try:
            receipt = _look(row.tx_hash, node, longest) or find_receipt(made, node=node)
        except ChainError:
            receipt = None
        if receipt is not None:
            return receipt
        renew(row, now=clock())
        made.refresh_from_db(fields=["state"])
        if made.state == TransactionState.INTENDED:
            push(made, node=node, now=clock())
    raise ReceiptMissingError(row.tx_hash)


def longest_pause(spec: ChainSpec) -> float:
    """Return the seconds between two looks: whoever waits takes a quarter at most of what a public node allows."""
    often = spec.block_seconds / _LOOKS_IN_A_BLOCK
    if spec.is_local:
        return often
    return max(often, _SHARE * 60 / spec.requests_per_minute)


def _look(tx_hash: str, node: GasNode, longest: float) -> Receipt | None:
    """Look for the receipt of a transaction's first attempt, for one round."""
    until, pause = time.monotonic() + _ROUND_SECONDS, _FIRST_PAUSE
    while (receipt := node.receipt(tx_hash)) is None and time.monotonic() < until:
        time.sleep(pause)
        pause = min(1.5 * pause, longest)
    return receipt
