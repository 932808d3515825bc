"""Settles payments on Solana: our account co-signs the payer's transaction as fee payer, within limits on our cost."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import base58
import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from accounts.states import Mode
from gateway.core.times import Clock
from settlements.errors import NoGasError
from settlements.gas.keys import solana_gas_keys
from settlements.gas.shares import WINDOW, FailedCosts
from settlements.gas.solana_relay import machines_part, take_turn
from settlements.gas.strangers import MOST_READ, Stranger, refuse_failed
from wallets.chains.base import ChainError, FoundTransaction
from wallets.chains.family import ChainFamily, ChainSpec
from wallets.chains.solana.family import SOLANA_FAMILY
from wallets.chains.solana.questions import token_account
from x402.exact import answers
from x402.exact import reasons as common
from x402.exact.authorizations import keep_signed, release
from x402.exact.errors import BalanceUnknownError, OverdrawnError, RefusedPaymentError
from x402.exact.inputs import Body, Executed, SignedPayment, StandardRequest
from x402.exact.quotas import (
    Machines,
    PayerBalance,
    expect_covered,
    has_sent_others,
    must_ask_balance,
    refuse_overdrawn,
)
from x402.exact.records import fail_row, settle_row
from x402.exact.solana import reasons, transfers
from x402.exact.solana.nodes import SolanaNodes, nodes_of
from x402.exact.solana.transfers import SignedTransfer, read_transfer
from x402.inputs import SCHEME
from x402.models import Authorization, X402Payment
from x402.states import AuthorizationState

log = structlog.get_logger(__name__)

Answer = dict[str, Any]

_DAY: Final = timedelta(days=1)

# Local networks mine it at once.
_FIRST_PAUSE: Final = 0.02
# A blockhash is valid for 150 blocks, about a minute.
_EXPIRES: Final = timedelta(minutes=2)
# Nodes prune old transactions: after that, one that no node knows may still have been paid long ago.
_REMEMBERED: Final = timedelta(hours=12)

_FAILING_MEMO: Final = b"fail"

TEST_FEE_PAYER: Final = "F1orinTestFeePayer1111111111111111111111111"
"""The fee payer in test mode, where nothing is sent. No key for it exists."""


def conclude(row: Authorization, request: StandardRequest, found: FoundTransaction | None, *, now: datetime) -> Answer:
    """Return the response for a mined transaction."""
    if found is None or not found.succeeded:
        return _failed(row, request, common.TRANSACTION_FAILED)
    executed = _executed(found, request)
    if executed is None:
        return _failed(row, request, common.TRANSACTION_FAILED)
    return settle_row(row, request, executed, now=now)


def conclude_expired(row: Authorization, request: StandardRequest) -> Answer:
    """Return the response for a transaction that is in no block and never can be: it cost nothing."""
    Authorization.objects.filter(pk=row.pk).update(network_fee=0)
    return _failed(row, request, common.TRANSACTION_FAILED)


def _executed(found: FoundTransaction, request: StandardRequest) -> Executed | None:
    """Return where the money arrived. The transaction has exactly one movement."""
    for one in found.transfers:
        is_ours = one.recipient == request.pay_to and one.token == request.token
        if is_ours and one.units == request.units:
            return Executed(one.tx_hash, one.position, one.block_height)
    return None


def _failed(row: Authorization, request: StandardRequest, reason: str) -> Answer:
    return fail_row(row, answers.failed(request, reason, tx_hash=row.tx_hash))


def refuse_spending(stranger: Stranger, cost: int, *, now: datetime) -> None:
    """Raise NoGasError if a transaction would exceed the day's limit or the merchant's share of it."""
    merchant_id, chain = stranger.merchant_id, stranger.chain
    daily = machines_part(chain)
    rows = _spending(chain, now)
    own = Q(merchant=merchant_id)
    failed = own & Q(state=AuthorizationState.FAILED)
    spent = rows.aggregate(
        all=Sum("network_fee", default=0),
        good=_fees(own & ~Q(state=AuthorizationState.FAILED)),
        failed=_fees(failed),
        lately=_fees(failed & Q(created_at__gt=now - WINDOW)),
        open=_fees(own & Q(state=AuthorizationState.SENT)),
    )
    _refuse_beyond(daily, spent["all"] + cost, chain)
    share = daily * Decimal(settings.GAS_MERCHANT_SHARE)
    if spent["good"] + cost > share:
        raise NoGasError(f"the merchant's share of the day's gas on {chain} is spent")
    costs = FailedCosts(spent["failed"], lately=spent["lately"], open=spent["open"], payment=cost)
    refuse_failed(stranger, costs, share, now=now)


def _spending(chain: str, now: datetime) -> QuerySet[Authorization]:
    """Return the authorisations that cost us a network fee within a day."""
    return Authorization.objects.filter(chain=chain, network_fee__isnull=False, created_at__gt=now - _DAY)


def _refuse_beyond(daily: Decimal, fees: int, chain: str) -> None:
    if fees > daily:
        raise NoGasError(f"the day's gas on {chain} is spent (GAS_DAILY_COINS)")


@dataclass(frozen=True, slots=True)
class _MachinesOnSolana(Machines):
    """The same of a chain without gas accounts: the fees that its authorisations cost us."""

    def failed_payers(self, *, since: datetime) -> Sequence[str]:
        """Return the payers of payments that failed at our cost."""
        rows = self._failed(since).filter(network_fee__gt=0).order_by("-created_at")
        return list(rows.values_list("payer", flat=True)[:MOST_READ])

    def known_failed(self, *, since: datetime) -> int:
        """Return what failed payments cost of payers who had paid the merchant before, in lamports."""
        paid = X402Payment.objects.filter(
            mode=Mode.LIVE,
            payer=OuterRef("payer"),
            merchant=OuterRef("merchant"),
            chain=OuterRef("chain"),
            verified_at__lt=OuterRef("created_at"),
        )
        fees = self._failed(since).filter(Exists(paid)).aggregate(sum=Sum("network_fee", default=0))
        return int(fees["sum"])

    def _failed(self, since: datetime) -> QuerySet[Authorization]:
        return Authorization.objects.filter(
            mode=Mode.LIVE,
            merchant=self.merchant_id,
            chain=self.chain,
            state=AuthorizationState.FAILED,
            network_fee__isnull=False,
            created_at__gt=since,
        )


def _fees(which: Q) -> Sum:
    return Sum("network_fee", default=0, filter=which)


class SolanaRail:
    """The rail of Solana (see `x402.exact.rails.Rail`)."""

    family: ChainFamily = SOLANA_FAMILY
    # One each for the transaction and its status, before and after a resend.
    questions = 5
    schemes: Sequence[str] = (SCHEME,)
    signers_pattern = "solana:*"
    is_always_told = False
    extensions: Sequence[str] = ()

    def signers(self) -> Sequence[str]:
        """Return the accounts of GAS_KEYS_SOLANA."""
        return list(solana_gas_keys())

    def prepare(self) -> None:
        """Import what parses transactions, by parsing none."""
        with suppress(RefusedPaymentError):
            read_transfer(b"")

    def reasons_of(self, scheme: str) -> Mapping[str, str]:
        """Return the codes for Solana."""
        return reasons.SPOKEN

    def kind_extra(self, spec: ChainSpec, scheme: str, mode: Mode, *, merchant_id: int) -> Mapping[str, Any]:
        """Return the fee payer that a payer's transaction must name."""
        payers = [TEST_FEE_PAYER] if mode == Mode.TEST else self.signers()
        # The same for all requests of a merchant: one server may receive a payment that another one asked for.
        return {"feePayer": payers[merchant_id % len(payers)]}

    def simulated_hash(self, told: str) -> str:
        """Return 64 bytes in base58."""
        return base58.b58encode(hashlib.sha512(told.encode()).digest()).decode()

    def simulates_failure(self, request: StandardRequest) -> bool:
        """Whether a memo begins with fail."""
        memos = transfers.transfer_of(request.signed).memos
        return any(memo.startswith(_FAILING_MEMO) for memo in memos)

    def read_extra(self, extra: Body) -> Mapping[str, Any]:
        """Return who pays for the network, and the memo."""
        return transfers.read_extra(extra)

    def read_signed(
        self, payload: Body, *, asset: str, pay_to: str, extra: Mapping[str, Any], scheme: str
    ) -> SignedPayment:
        """Return the signed transfer in a payer's transaction."""
        return transfers.read_signed(payload, asset=asset, pay_to=pay_to, extra=extra)

    def read_extensions(self, extensions: Body, signed: SignedPayment, *, asset: str) -> SignedPayment:
        """Return it as it is."""
        del extensions, asset
        return signed

    def verify(self, request: StandardRequest, *, merchant_id: int, clock: Clock) -> Answer:
        """Return the result of a node's simulation of the transaction, without our signature."""
        payer, transfer = request.signed.payer, transfers.transfer_of(request.signed)
        if transfer.fee_payer not in solana_gas_keys():
            return answers.invalid(reasons.FEE_PAYER_UNKNOWN, payer=payer)
        try:
            simulated = nodes_of(request.spec).simulate(transfer.transaction)
        except ChainError:
            return answers.unverified(payer)
        if simulated.is_ours:
            return answers.unready(payer)
        if simulated.error:
            return answers.invalid(reasons.SIMULATION, simulated.error, payer=payer)
        try:
            fee = transfer.network_fee
            refuse_spending(_stranger(merchant_id, request), fee, now=clock())
            _expect_covered(request, transfer, now=clock())
        except NoGasError as error:
            log.warning("not verified", chain=request.spec.name, error=str(error))
            return answers.unready(payer)
        except OverdrawnError:
            return answers.unusable(request, common.INSUFFICIENT_BALANCE)
        except ChainError:
            return answers.unverified(payer)
        return answers.valid(request)

    def begin(self, request: StandardRequest, take: Callable[[], Authorization], *, clock: Clock) -> Answer:
        """Simulate the transaction, lease the authorisation, sign, send and wait. Raises TakenElsewhereError."""
        refusal = _refusal(request)
        return refusal or self._carry_out(take(), request, clock)

    def go_on(self, row: Authorization, request: StandardRequest, *, clock: Clock) -> Answer:
        """Resend the signed transaction, and wait; sign it first if that was not done."""
        if _was_signed(row):
            return self._pursue(row, request, clock)
        refusal = _refusal(request)
        if refusal is None:
            return self._carry_out(row, request, clock)
        row.refresh_from_db()
        # The previous holder was only slow, and has sent the transaction already.
        return self._pursue(row, request, clock) if _was_signed(row) else refusal

    def finish(self, row: Authorization, request: StandardRequest, *, clock: Clock) -> None:
        """End it by its result on the chain, or once the transaction can no longer be mined."""
        if row.signed is None:
            return
        nodes = nodes_of(request.spec)
        found = nodes.find(row.tx_hash)
        if _is_in_block(found):
            conclude(row, request, found, now=clock())
        elif _EXPIRES < clock() - row.created_at < _REMEMBERED and _is_lost(row, nodes):
            conclude_expired(row, request)
        else:
            nodes.send(bytes(row.signed))
            release(row)

    def _carry_out(self, row: Authorization, request: StandardRequest, clock: Clock) -> Answer:
        """Sign the leased authorisation's transaction, and send it."""
        transfer = transfers.transfer_of(request.signed)
        try:
            fee = transfer.network_fee
            refuse_spending(_stranger(row.merchant_id, request), fee, now=clock())
            _sign(row, transfer, request, now=clock())
        except OverdrawnError:
            return fail_row(row, answers.overdrawn(request))
        except (NoGasError, ChainError) as error:
            log.warning("not sent", chain=row.chain, error=str(error))
            release(row)
            return answers.trouble(request)
        return self._pursue(row, request, clock)

    def _pursue(self, row: Authorization, request: StandardRequest, clock: Clock) -> Answer:
        """Look for the transaction, and resend it if it is not in a block yet."""
        nodes = nodes_of(request.spec)
        found = None
        with suppress(ChainError):
            found = nodes.find(row.tx_hash)
            if not _is_in_block(found):
                nodes.send(bytes(row.signed or b""))
                time.sleep(_FIRST_PAUSE)
                found = nodes.find(row.tx_hash)
        if _is_in_block(found):
            return conclude(row, request, found, now=clock())
        release(row)
        return answers.pending(request, row.tx_hash)


def _expect_covered(request: StandardRequest, transfer: SignedTransfer, *, now: datetime) -> None:
    """Raise OverdrawnError if `_sign` would because of what the payer has on its way, which no simulation includes. Raises ChainError."""
    payer = request.signed.payer
    asked = Authorization(chain=request.spec.name, token=request.token, payer=payer, units=request.units)
    if has_sent_others(asked, now=now):
        expect_covered(asked, nodes_of(request.spec).balance(transfer), now=now)


def _sign(row: Authorization, transfer: SignedTransfer, request: StandardRequest, *, now: datetime) -> None:
    """Sign a transfer if the payer's balance covers it and all open payments.

    Raises OverdrawnError, ChainError, and NoGasError if others spent the rest of the day's gas since it was judged.
    """
    nodes, balance = nodes_of(request.spec), None
    if must_ask_balance(row, now=now):
        balance = nodes.balance(transfer)
    try:
        _sign_within(row, transfer, balance, now)
    except BalanceUnknownError:
        # Another payment of this payer was signed meanwhile.
        _sign_within(row, transfer, nodes.balance(transfer), now)


def _sign_within(row: Authorization, transfer: SignedTransfer, balance: PayerBalance | None, now: datetime) -> None:
    with transaction.atomic():
        refuse_overdrawn(row, balance, now=now)
        # Others may have signed since `refuse_spending`, which may ask nodes and so holds no lock.
        take_turn(row.chain)
        others = _spending(row.chain, now).exclude(pk=row.pk).aggregate(sum=Sum("network_fee", default=0))["sum"]
        _refuse_beyond(machines_part(row.chain), others + transfer.network_fee, row.chain)
        _cosign(row, transfer, now=now)


def _stranger(merchant_id: int, request: StandardRequest) -> Stranger:
    transfer = transfers.transfer_of(request.signed)

    def funded_by(payer: str) -> str | None:
        account = token_account(payer, mint=transfer.mint, program=transfer.program)
        return nodes_of(request.spec).funder(account, payer)

    chain = request.spec.name
    payer, record = request.signed.payer, _MachinesOnSolana(merchant_id, chain)
    return Stranger(merchant_id, chain, transfer.mint, payer, funded_by, record)


def _refusal(request: StandardRequest) -> Answer | None:
    """Return the response to a payment that cannot be settled now."""
    transfer = transfers.transfer_of(request.signed)
    if transfer.fee_payer not in solana_gas_keys():
        return answers.failed(request, reasons.FEE_PAYER_UNKNOWN)
    try:
        simulated = nodes_of(request.spec).simulate(transfer.transaction)
    except ChainError:
        return answers.trouble(request)
    if simulated.is_ours:
        log.error("our account cannot pay", account=transfer.fee_payer)
        return answers.trouble(request)
    if not simulated.error:
        return None
    return answers.failed(request, reasons.SIMULATION, simulated.error)


def _is_in_block(found: FoundTransaction | None) -> bool:
    return found is not None and found.block_height is not None


def _is_lost(row: Authorization, nodes: SolanaNodes) -> bool:
    blockhash = read_transfer(bytes(row.signed or b"")).blockhash
    return nodes.is_lost(row.tx_hash, blockhash, since=row.created_at + _EXPIRES)


def _cosign(row: Authorization, transfer: SignedTransfer, *, now: datetime) -> None:
    """Sign a parsed and simulated transfer, and store it. From now on its network fee counts as our cost."""
    from solders.signature import Signature
    from solders.transaction import VersionedTransaction

    ours = Signature(solana_gas_keys()[transfer.fee_payer].sign(transfer.message))
    signed = VersionedTransaction.from_bytes(transfer.transaction)
    signed.signatures = [ours, signed.signatures[1]]
    row.signed, row.tx_hash = bytes(signed), str(ours)
    row.network_fee = transfer.network_fee
    keep_signed(row, now=now)


def _was_signed(row: Authorization) -> bool:
    """Whether a transaction may have been sent for an authorisation."""
    return row.signed is not None
