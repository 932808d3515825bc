"""Closes buyers' reports that the team has handled."""

from datetime import datetime

from django.db import transaction

from accounts.audit.service import record
from accounts.models import User
from checkouts.models import BuyerReport


@transaction.atomic
def close_report(report: BuyerReport, *, now: datetime, actor: User, address: str | None = None) -> bool:
    """Close a report; return whether it was open. No money moves. `address` is the actor's, for the audit log.

    It reopens if its buyer asks again and the result differs.
    """
    if not BuyerReport.objects.filter(pk=report.pk, closed_at=None).update(closed_at=now):
        return False
    record(
        report.merchant,
        action="report.closed",
        actor=actor,
        object_id=str(report.pk),
        after={"checkout": report.checkout.public_id, "tx_hash": report.tx_hash},
        address=address,
        now=now,
    )
    return True
