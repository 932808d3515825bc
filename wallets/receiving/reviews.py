"""Looks stored receiving wallets up again: one that loses what it receives is offered no more, and its owners are told.

Wallets that were stored before chains were asked come first, then each once a day: a contract may be there by now.
"""

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import F, Q

from accounts.audit.service import record
from accounts.models import Merchant
from gateway.core.api.errors import InvalidRequestError, UnavailableError
from wallets import selectors
from wallets.models import ReceivingWallet
from wallets.receiving.inspection import DoubtfulError, Inspected, InspectionRound, in_turn
from wallets.receiving.mails import tell_contract, tell_doubted, tell_refused
from wallets.states import ChainStatus, ClaimKind

_EVERY: Final = timedelta(days=1)


def review_wallets(*, now: datetime) -> int:
    """Look up the wallets that are due; return how many are offered no more. A silent chain's wallets wait."""
    statuses = selectors.chain_statuses(now=now)
    read = [chain for chain, status in statuses.items() if status != ChainStatus.DOWN]
    due = ReceivingWallet.objects.filter(
        Q(inspected_at=None) | Q(inspected_at__lte=now - _EVERY), chain__in=read, retired_at=None
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
