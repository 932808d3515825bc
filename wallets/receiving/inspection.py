"""Asks a chain what an address is, before a merchant receives there and daily afterwards.

No address is stored that loses the money. A stored wallet that loses it by now is offered no more, and its owners are told.
Wallets that were stored before chains were asked are reviewed first.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Self, TypeVar

from django.db import transaction
from django.db.models import F, Q
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy, gettext_noop

from accounts.audit.service import record
from accounts.models import Merchant
from gateway.core.api.errors import InvalidRequestError, RateLimitError, UnavailableError
from gateway.core.api.rate_limits import Limit, hit
from gateway.core.texts import Spoken
from wallets import selectors
from wallets.chains.base import ChainError, ChainUnavailableError
from wallets.chains.family import AccountKind, ChainSpec, most_dangerous
from wallets.chains.registry import open_pool
from wallets.chains.rpc.client import RefusedError
from wallets.chains.rpc.pool import RpcPool
from wallets.models import ReceivingWallet
from wallets.networks import chain_spec, chains
from wallets.receiving.mails import tell_contract, tell_doubted, tell_refused
from wallets.receiving.service import usable_address
from wallets.states import ChainStatus, ClaimKind

T = TypeVar("T")

_ASKED: Final = Limit("wallet.inspection", 20)
"""The limit of addresses that a merchant looks up in a minute."""

_SECONDS: Final = 12.0
"""How long all questions about an address take together."""

ROUND_SECONDS: Final = 40.0
"""How long a round of look-ups takes at most: a task is ended after a minute."""

_REFUSED: Final = {
    AccountKind.TOKEN: "is a token contract: money sent there is lost.",
    AccountKind.TOKEN_ACCOUNT: "is a token account, not a wallet. Give the address of the wallet that owns it.",
    AccountKind.VAULT: "is a vault that belongs to its shareholders (ERC-4626): money sent there is lost.",
    AccountKind.NFT: "is an NFT: money sent there is lost.",
    AccountKind.PROGRAM: "is a program or an account of a program, not a wallet. Of a multisig, give the vault's address.",
    AccountKind.CONTRACT: "is a contract that does not answer as a wallet does, such as a router or an exchange.",
    AccountKind.FROZEN: "is frozen by its network.",
    AccountKind.EMPTY: "has no key, and nothing is there yet. If it is a vault, send it a little of the network's coin first.",
}
OWNED: Final = "It belongs to "
"""The words before the wallet that owns a token account, in the error about that account; a point follows the address."""

_OWNED: Final = "is a token account, not a wallet. {words}{owner}. Give that address."
_DOUBTFUL: Final = frozenset({AccountKind.CONTRACT, AccountKind.EMPTY, AccountKind.FROZEN})
_NO_NODE: Final = gettext_noop(
    "No node of {network} is configured, so the address cannot be checked. Nothing was saved. The operator sets one."
)
_SILENT: Final = gettext_noop(
    "No node of {network} answers, so the address cannot be checked. Nothing was saved. Try again in a minute."
)
_CONTRACT: Final = gettext_lazy(
    "This is a contract on {title}, not a key's own account. Go on only if you or your team control it on {title}: a vault, "
    "a multisig or a smart account. Some wallets do not pay such an address."
)
_ELSEWHERE: Final = gettext_lazy(
    "This is a contract on {other}, and on {title} nothing is there. A contract wallet belongs to you only on the networks "
    "where it was made: money sent to it on {title} can be lost."
)

_REVIEWED_EVERY: Final = timedelta(days=1)


class DoubtfulError(InvalidRequestError):
    """What is at an address does not answer as a wallet, or only one node says so; that may be another tomorrow."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """An address in canonical form. `warning` says why it needs a typed confirmation or a proof; None for a key's account.

    `contract_on` is the chain on which it is a contract, the one that was asked about or another; empty for a key's account.
    """

    address: str
    warning: Spoken | None = None
    contract_on: str = ""


def inspect(chain: str, address: str, *, now: datetime, asker: str | None = None) -> Inspected:
    """Return what an address is, as the chain's nodes say; of several, the worst answer counts.

    `asker` is who is limited. Holds no row while nodes are asked. Raises as `InspectionRound.inspect` does, and
    RateLimitError.
    """
    canonical = usable_address(chain, address)
    if asker is not None:
        limited = hit(_ASKED, asker, now=now.timestamp())
        if limited.exceeded:
            raise RateLimitError(max(1, limited.reset - int(now.timestamp())))
    with InspectionRound(seconds=_SECONDS) as inspections:
        return inspections.inspect(chain, canonical)


class InspectionRound:
    """Looks up addresses one after another, within a total time. A chain that kept silent is not asked again."""

    def __init__(self, *, seconds: float = ROUND_SECONDS) -> None:
        self._end = time.monotonic() + seconds
        self._deadline = self._end
        self._pools: dict[str, RpcPool] = {}
        self._silent: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pool in self._pools.values():
            pool.close()

    @property
    def is_over(self) -> bool:
        """Whether the total time is used up."""
        return time.monotonic() >= self._end

    def inspect(self, chain: str, address: str) -> Inspected:
        """Return what an address is.

        Raises InvalidRequestError (chain_unsupported, address_invalid) for an address that would lose the money,
        DoubtfulError if it may, and UnavailableError if no node can say in time.
        """
        canonical = usable_address(chain, address)
        spec = chain_spec(chain)
        self._deadline = min(self._end, time.monotonic() + _SECONDS)
        if self._told(spec, canonical) is AccountKind.CONTRACT_WALLET:
            return Inspected(canonical, format_lazy(_CONTRACT, title=spec.title), spec.name)
        if other := self._contract_elsewhere(spec, canonical):
            return Inspected(canonical, format_lazy(_ELSEWHERE, other=other.title, title=spec.title), other.name)
        return Inspected(canonical)

    def _told(self, spec: ChainSpec, address: str) -> AccountKind:
        """Return the kind of a wallet. Raises InvalidRequestError for any other, UnavailableError."""
        if not spec.rpc_urls:
            raise UnavailableError(_NO_NODE, values={"network": spec.title})
        try:
            kinds = self._ask(spec, address)
        except ChainError as error:
            raise UnavailableError(_SILENT, values={"network": spec.title}) from error
        kind = most_dangerous(kinds)
        if not kind.is_wallet:
            owner = self._owner_of(spec, address) if kind is AccountKind.TOKEN_ACCOUNT else None
            raise _refusal(kinds, _OWNED.format(words=OWNED, owner=owner) if owner else _REFUSED[kind])
        return kind

    def _owner_of(self, spec: ChainSpec, address: str) -> str | None:
        """Return the wallet that a token account belongs to; None if nobody says."""
        try:
            return self._pool(spec).run(lambda node: spec.family.ask_owner(node, address))
        except ChainError:
            return None

    def _contract_elsewhere(self, spec: ChainSpec, address: str) -> ChainSpec | None:
        """Return another chain of the family that knows an address as a contract wallet, as far as they answer.

        Raises InvalidRequestError for one that keeps tokens there.
        """
        for other in chains().values():
            if other.family is not spec.family or other.name == spec.name or not other.rpc_urls:
                continue
            try:
                kinds = self._ask(other, address)
            except ChainError:
                continue
            kind = most_dangerous(kinds)
            if not kind.is_wallet:
                raise _refusal(kinds, f"on {other.title} {_REFUSED[kind]}")
            if kind is AccountKind.CONTRACT_WALLET:
                return other
        return None

    def _pool(self, spec: ChainSpec) -> RpcPool:
        pool = self._pools.get(spec.name) or self._pools.setdefault(spec.name, open_pool(spec))
        pool.stop_at(self._deadline)
        return pool

    def _ask(self, spec: ChainSpec, address: str) -> list[AccountKind]:
        """Return what each of a chain's nodes that answer says. Raises ChainError if none does."""
        if spec.name in self._silent:
            raise ChainUnavailableError("it kept silent in this round")
        pool = self._pool(spec)
        try:
            told = pool.run(lambda node: spec.family.ask_kind(node, address))
        except RefusedError:
            raise
        except ChainError:
            self._silent.add(spec.name)
            raise
        return [told, *pool.survey(lambda node: spec.family.ask_kind(node, address))]


def review_wallets(*, now: datetime) -> int:
    """Look up the wallets that are due; return how many are offered no more. A silent chain's wallets wait."""
    statuses = selectors.chain_statuses(now=now)
    read = [chain for chain, status in statuses.items() if status != ChainStatus.DOWN]
    due = ReceivingWallet.objects.filter(
        Q(inspected_at=None) | Q(inspected_at__lte=now - _REVIEWED_EVERY), chain__in=read, retired_at=None
    )
    found = list(due.order_by(F("inspected_at").asc(nulls_first=True), "pk").select_related("merchant"))
    refused = 0
    with InspectionRound() as inspections:
        for wallet in in_turn(found, now=now):
            if inspections.is_over:
                break
            refused += _review(wallet, inspections, now)
    return refused


def objected_wallets(merchant_id: int, purpose: ClaimKind | None = None) -> list[ReceivingWallet]:
    """Return the wallets that their chains object to: present ones, and refused ones that no other wallet replaced."""
    wallets = ReceivingWallet.objects.filter(merchant=merchant_id)
    rows = wallets if purpose is None else wallets.filter(purpose=purpose)
    newest = rows.order_by("chain", "purpose", "-pk").distinct("chain", "purpose")
    return [wallet for wallet in newest if wallet.objection and (wallet.refused_at or wallet.retired_at is None)]


def _review(wallet: ReceivingWallet, inspections: InspectionRound, now: datetime) -> bool:
    """Look one wallet up, without a row held; return whether it is refused now."""
    try:
        found = inspections.inspect(wallet.chain, wallet.address)
    except UnavailableError:
        return False
    except DoubtfulError as error:
        return _note(wallet, error.message, is_lost=False, now=now)
    except InvalidRequestError as error:
        return _note(wallet, error.message, is_lost=True, now=now)
    return _accept(wallet, found, now)


@transaction.atomic
def _accept(wallet: ReceivingWallet, found: Inspected, now: datetime) -> bool:
    """Keep a wallet; nobody was warned of a contract that was stored before chains were asked."""
    present = ReceivingWallet.objects.filter(pk=wallet.pk, retired_at=None)
    if present.update(inspected_at=now, objection="") and found.warning and wallet.inspected_at is None:
        tell_contract(wallet, warning=found.warning, now=now)
    return False


@transaction.atomic
def _note(wallet: ReceivingWallet, objection: str, *, is_lost: bool, now: datetime) -> bool:
    """Store what the chain says against a wallet, and tell its owners; return whether it is refused."""
    Merchant.objects.select_for_update(no_key=True).get(pk=wallet.merchant_id)
    present = ReceivingWallet.objects.filter(pk=wallet.pk, retired_at=None)
    end = {"retired_at": now, "refused_at": now} if is_lost else {}
    if not present.update(inspected_at=now, objection=objection[:200], **end):
        # It was replaced meanwhile.
        return False
    wallet.objection = objection
    if not is_lost:
        tell_doubted(wallet, now=now)
        return False
    before = {"address": wallet.address, "objection": objection}
    record(wallet.merchant, action="receiving_wallet.refused", object_id=wallet.chain, before=before, now=now)
    tell_refused(wallet, now=now)
    transaction.on_commit(selectors.forget)
    return True


def in_turn(rows: Sequence[T], *, now: datetime) -> list[T]:
    """Return rows that start with another one each minute: one that uses up a round does not always come first."""
    first = int(now.timestamp() // 60) % len(rows) if rows else 0
    return [*rows[first:], *rows[:first]]


def _refusal(kinds: list[AccountKind], words: str) -> InvalidRequestError:
    is_disputed = any(kind.is_wallet for kind in kinds)
    error = DoubtfulError if is_disputed or most_dangerous(kinds) in _DOUBTFUL else InvalidRequestError
    return error(f"The address {words}", param="address", code="address_invalid")
