"""The dashboard's sidebar, assembled from all apps. Only existing pages are listed.

Templates know this module as the library `navigation`.
"""

from typing import Any, Final

from django import template
from django.utils import timezone

from accounts.dashboard.sidebar import Entry, Group, Section, section_of
from accounts.fees.service import charges_fees
from checkouts.dashboard.attention import Notice, strip_of
from checkouts.inbox.queries import open_count
from rates.selectors import has_prices
from webhooks.dashboard.queries import failing_count

register = template.Library()

# Only pages that exist: an unknown route breaks every page of the dashboard.
GROUPS: Final = (
    Group("", (Entry("dashboard_overview", "Overview", "home"),)),
    Group(
        "Sales",
        (
            Entry("dashboard_checkouts", "Checkouts", "card"),
            Entry("dashboard_links", "Payment links", "link"),
            Entry("dashboard_terminals", "Terminals", "till"),
            Entry("dashboard_payments", "Payments", "arrows"),
            Entry("dashboard_customers", "Customers", "people"),
            Entry("dashboard_inbox", "Inbox", "inbox", count=open_count),
        ),
        # Frequent tasks are one click away on every page.
        stays_open=True,
    ),
    Group(
        "Money",
        (
            Entry("dashboard_settlements", "Settlements", "incoming"),
            Entry("dashboard_payouts", "Payouts", "outgoing"),
            Entry("dashboard_receiving_wallets", "Receiving wallets", "wallet"),
            Entry("dashboard_watched_wallets", "Watched wallets", "eye"),
            Entry("dashboard_balances", "Balances", "wallet"),
            Entry("dashboard_reports", "Reports", "chart"),
            Entry("dashboard_months", "For the accountant", "download"),
            Entry("dashboard_fees", "Fees", "chart", is_there=charges_fees),
        ),
    ),
    Group(
        "Developers",
        (
            Entry("dashboard_webhooks", "Webhooks", "hook", count=failing_count),
            Entry("dashboard_events", "Events", "incoming"),
            Entry("dashboard_keys", "API keys", "key"),
            Entry("dashboard_api_requests", "API requests", "log"),
            Entry("dashboard_x402", "x402", "code"),
        ),
    ),
    Group(
        "Business",
        (
            Entry("dashboard_team", "Team", "people"),
            Entry("dashboard_notices", "Notices", "bell"),
            Entry("dashboard_approvals", "Approvals", "shield"),
            Entry("dashboard_prices", "Prices", "card", is_there=has_prices),
            Entry("dashboard_branding", "Branding", "palette"),
            Entry("dashboard_audit_log", "Audit log", "log"),
            Entry("dashboard_data_export", "Data export", "download"),
        ),
    ),
)


@register.simple_tag(takes_context=True)
def network_trouble(context: dict[str, Any]) -> list[Notice]:
    """Return what disrupts the networks of the merchant's payments, the most serious first; nothing on pages that say it themselves."""
    request = context["request"]
    is_told = any(request.GET.get(name) for name in ("doubt", "offers"))
    if is_told or request.path == request.seat.url("dashboard_overview"):
        return []
    return strip_of(request.seat, now=timezone.now())


@register.simple_tag(takes_context=True)
def sidebar(context: dict[str, Any]) -> list[Section]:
    """Return the sidebar's groups for the current person."""
    request = context["request"]
    return [section_of(group, request) for group in GROUPS]
