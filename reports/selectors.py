"""Selects the transfers, movements and settlements of a report."""

from typing import TypeVar

from django.db.models import Model, Q, QuerySet

from gateway.core.api.errors import InvalidRequestError
from gateway.core.api.pagination import Page
from reports.inputs import ReportFilter
from settlements.models import Settlement
from wallets.chains.base import AddressError
from wallets.chains.evm.address import address_key as evm_key
from wallets.models import Transfer, WatchedMovement, WatchedWallet
from wallets.states import Direction, WatchPurpose

M = TypeVar("M", bound=Model)


def transfers_wanted(wanted: ReportFilter) -> QuerySet[Transfer]:
    """Return the transfers of a filter.

    All are incoming, and their addresses have no tags: other filters match none.
    """
    if wanted.direction == Direction.OUT or wanted.tag:
        return Transfer.objects.none()
    mine = Transfer.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    found = _narrowed(mine, wanted)
    return found.filter(_to_wallet(wanted.wallet)) if wanted.wallet else found


def settlements_wanted(wanted: ReportFilter) -> QuerySet[Settlement]:
    """Return the settlements of a filter, by the time when each was stored, newest first."""
    found = Settlement.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    if wanted.since is not None:
        found = found.filter(created_at__gte=wanted.since)
    if wanted.until is not None:
        found = found.filter(created_at__lt=wanted.until)
    found = found.filter(chain=wanted.chain) if wanted.chain else found
    return found.order_by("-pk")


def settlement_page(wanted: ReportFilter, page: Page) -> list[Settlement]:
    """Return one page of settlements. Raises InvalidRequestError for an unknown `starting_after`."""
    found = settlements_wanted(wanted)
    if page.starting_after is None:
        return list(found[page.offset : page.offset + page.limit])
    mine = Settlement.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode)
    start = mine.filter(public_id=page.starting_after).first()
    if start is None:
        raise InvalidRequestError("starting_after names no settlement.", param="starting_after")
    return list(found.filter(pk__lt=start.pk)[: page.limit])


def all_movements(wanted: ReportFilter) -> QuerySet[WatchedMovement]:
    """Return the watched wallets' movements of a filter, without those of wallets that are watched for a payout only."""
    hidden = WatchedWallet.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode, purpose=WatchPurpose.PAYOUT)
    found = WatchedMovement.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode).exclude(wallet__in=hidden)
    found = _narrowed(found, wanted)
    if wanted.direction:
        found = found.filter(direction=wanted.direction)
    if wanted.wallet:
        found = found.filter(wallet__address=wanted.wallet)
    return found.filter(wallet__in=_tagged(wanted)) if wanted.tag else found


def movements_wanted(wanted: ReportFilter) -> QuerySet[WatchedMovement]:
    """Return a filter's movements that are not in its transfers already.

    With a tag, no transfers are shown, but all movements.
    """
    found = all_movements(wanted)
    return found if wanted.tag else found.filter(is_payment=False)


def watched_wallets(wanted: ReportFilter) -> QuerySet[WatchedWallet]:
    """Return the watched wallets of a filter, including removed ones, which have moved money too."""
    found = WatchedWallet.objects.filter(merchant=wanted.merchant_id, mode=wanted.mode, purpose=WatchPurpose.LIST)
    if wanted.chain:
        found = found.filter(chain=wanted.chain)
    return found.filter(tags__contains=[wanted.tag]) if wanted.tag else found


def _tagged(wanted: ReportFilter) -> list[int]:
    # Their keys are queried first, because there are few: the rows are then found by time.
    return list(watched_wallets(wanted).values_list("pk", flat=True))


def _narrowed(found: QuerySet[M], wanted: ReportFilter) -> QuerySet[M]:
    if wanted.since is not None:
        found = found.filter(block_time__gte=wanted.since)
    if wanted.until is not None:
        found = found.filter(block_time__lt=wanted.until)
    if wanted.chain:
        found = found.filter(chain=wanted.chain)
    return found.filter(token=wanted.token) if wanted.token else found


def _to_wallet(address: str) -> Q:
    """Return the condition for transfers to an address, or to a deposit address that pays it."""
    try:
        return Q(recipient=address) | Q(deposit__destination=evm_key(address))
    except AddressError:
        return Q(recipient=address)
