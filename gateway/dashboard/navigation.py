"""The dashboard's sidebar, assembled from all apps. Only existing pages are listed.

Templates know this module as the library `navigation`.
"""

from typing import Any, Final

from django import template
from django.utils import timezone
from django.utils.translation import gettext_noop

from accounts.dashboard.sidebar import Entry, Group, Section, section_of
from accounts.fees.service import charges_fees
from checkouts.dashboard.attention import DashboardNotice, strip_of
from checkouts.inbox.queries import open_count
from rates.selectors import has_prices
from webhooks.dashboard.queries import failing_count

register = template.Library()

# Only pages that exist: an unknown route breaks every page of the dashboard.
GROUPS: Final = (
    Group("", (Entry("dashboard_overview", gettext_noop("Overview"), "home"),)),
    Group(
        gettext_noop("Sales"),
        (
            Entry("dashboard_checkouts", gettext_noop("Checkouts"), "card"),
            Entry("dashboard_links", gettext_noop("Payment links"), "link"),
            Entry("dashboard_terminals", gettext_noop("Terminals"), "till"),
            Entry("dashboard_payments", gettext_noop("Payments"), "arrows"),
            Entry("dashboard_customers", gettext_noop("Customers"), "people"),
            Entry("dashboard_inbox", gettext_noop("Inbox"), "inbox", count=open_count),
        ),
        # Frequent tasks are one click away on every page.
        stays_open=True,
    ),
    Group(
        gettext_noop("Money"),
        (
            Entry("dashboard_settlements", gettext_noop("Settlements"), "incoming"),
            Entry("dashboard_payouts", gettext_noop("Payouts"), "outgoing"),
            Entry("dashboard_receiving_wallets", gettext_noop("Receiving wallets"), "wallet"),
            Entry("dashboard_watched_wallets", gettext_noop("Watched wallets"), "eye"),
            Entry("dashboard_balances", gettext_noop("Balances"), "wallet"),
            Entry("dashboard_reports", gettext_noop("Reports"), "chart"),
            Entry("dashboard_months", gettext_noop("For the accountant"), "download"),
            Entry("dashboard_fees", gettext_noop("Fees"), "chart", is_there=charges_fees),
        ),
    ),
    Group(
        gettext_noop("Developers"),
        (
            Entry("dashboard_webhooks", gettext_noop("Webhooks"), "hook", count=failing_count),
            Entry("dashboard_events", gettext_noop("Events"), "incoming"),
            Entry("dashboard_keys", gettext_noop("API keys"), "key"),
            Entry("dashboard_api_requests", gettext_noop("API requests"), "log"),
            Entry("dashboard_x402", gettext_noop("x402"), "code"),
        ),
    ),
    Group(
        gettext_noop("Business"),
        (
            Entry("dashboard_team", gettext_noop("Team"), "people"),
            Entry("dashboard_notices", gettext_noop("Notices"), "bell"),
            Entry("dashboard_approvals", gettext_noop("Approvals"), "shield"),
            Entry("dashboard_prices", gettext_noop("Prices"), "card", is_there=has_prices),
            Entry("dashboard_branding", gettext_noop("Branding"), "palette"),
            Entry("dashboard_audit_log", gettext_noop("Audit log"), "log"),
            Entry("dashboard_data_export", gettext_noop("Data export"), "download"),
        ),
    ),
)


@register.simple_tag(takes_context=True)
def network_trouble(context: dict[str, Any]) -> list[DashboardNotice]:
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
