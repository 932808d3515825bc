"""Read-only lists: the waitlist for cards, differences between a chain's sources, and the audit log."""

from django.contrib import messages
from django.contrib.admin import EmptyFieldListFilter, action
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.audit.service import record
from gateway.core.web.client_address import address_or_none
from gateway.operator.access import operator_of
from gateway.operator.lists import ReadOnlyAdmin
from wallets.models import SourceDifference
from wallets.reconciliation.differences import close_differences


class FiatInterestAdmin(ReadOnlyAdmin):
    """Merchants who want to take cards."""

    list_display = ["email", "company", "country", "monthly_volume", "merchant", "mode", "created_at"]
    list_filter = ["mode"]
    list_select_related = ["merchant"]
    search_fields = ["email", "company", "country"]
    ordering = ["-pk"]


class SourceDifferenceAdmin(ReadOnlyAdmin):
    """Differences between two sources of a chain; closed once an operator looked."""

    list_display = ["chain", "kind", "tx_hash", "token", "units", "source", "found_at", "closed_at"]
    list_filter = [("closed_at", EmptyFieldListFilter), "chain", "kind"]
    search_fields = ["tx_hash", "recipient"]
    ordering = ["-pk"]
    actions = ["close"]

    @action(description="Close: investigated")
    def close(self, request: HttpRequest, rows: QuerySet[SourceDifference]) -> None:
        """Close these alerts, audited."""
        ids = sorted(rows.values_list("pk", flat=True))
        now = timezone.now()
        with transaction.atomic():
            closed = close_differences(ids, now=now)
            if closed:
                record(
                    None,
                    action="source_differences.closed",
                    actor=operator_of(request),
                    after={"differences": ids},
                    address=address_or_none(request),
                    now=now,
                )
        messages.success(request, f"Closed: {closed}.")


class AuditEntryAdmin(ReadOnlyAdmin):
    """The audit log of all merchants and of the installation."""

    list_display = ["created_at", "action", "actor_label", "object_id", "merchant", "address"]
    list_select_related = ["merchant"]
    search_fields = ["action", "actor_label", "object_id", "merchant__public_id"]
    ordering = ["-pk"]
