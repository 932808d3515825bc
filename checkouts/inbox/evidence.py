"""Buyers' reports as evidence: the transaction that a buyer handed in on a checkout's page is the money in the inbox."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.db.models import F, QuerySet, TextField, Value
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce, NullIf

from accounts.states import Mode
from checkouts.models import BuyerReport, Checkout, InboxItem
from checkouts.states import RescueVerdict
from wallets.models import Transfer
from wallets.networks import known_chains

JUNK: Final = frozenset(
    {RescueVerdict.CREDITED, RescueVerdict.OTHER_ADDRESS, RescueVerdict.FAILED, RescueVerdict.FAKE_TOKEN}
)
"""Reports that found no money for the merchant, or money that paid already. They are no evidence, whatever they name."""

UNSEEN: Final = frozenset({RescueVerdict.NOT_FOUND, RescueVerdict.UNREACHABLE})
"""Nothing was found then: such a report is evidence only of a transaction that came since."""


def _open(merchant_id: int, mode: Mode) -> QuerySet[Any]:
    """Return open reports; `moved` is the hash that their money is recorded under."""
    # One TON transaction may cause several transfers, each recorded under its own hash.
    moved = Coalesce(NullIf(KT("details__tx_hash"), Value("")), F("tx_hash"), output_field=TextField())
    found = BuyerReport.objects.filter(merchant=merchant_id, mode=mode, closed_at=None)
    return found.annotate(moved=moved).select_related("checkout")


def reported_transfers(merchant_id: int, mode: Mode, *, checkout: Checkout | None = None) -> QuerySet[Transfer]:
    """Return the merchant's transfers that buyers named, on one checkout's page or on any."""
    reports = _open(merchant_id, mode).exclude(verdict__in=JUNK)
    if checkout is not None:
        reports = reports.filter(checkout=checkout)
    # Every chain, so that the index of hashes is used.
    named = Transfer.objects.filter(chain__in=list(known_chains()), tx_hash__in=reports.values("moved"))
    return named.filter(merchant=merchant_id, mode=mode)


def namers_of(items: Sequence[InboxItem]) -> dict[int, list[Checkout]]:
    """Return, by item, the checkouts on whose pages a buyer named its transaction, oldest report first.

    The items are of one merchant and mode, their transfers loaded.
    """
    if not items:
        return {}
    hashes = {item.transfer.tx_hash for item in items}
    first = items[0]
    reports = _open(first.merchant_id, Mode(first.mode)).exclude(verdict__in=JUNK).filter(moved__in=hashes)
    by_hash: dict[str, list[BuyerReport]] = defaultdict(list)
    for report in reports.order_by("pk"):
        by_hash[report.moved].append(report)
    return {item.pk: _checkouts(by_hash[item.transfer.tx_hash], item.transfer.chain) for item in items}


def _checkouts(reports: Iterable[BuyerReport], chain: str) -> list[Checkout]:
    on_chain = (report.checkout for report in reports if report.chain in ("", chain))
    return list({checkout.pk: checkout for checkout in on_chain}.values())
