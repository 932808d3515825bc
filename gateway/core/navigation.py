"""What stands in the dashboard's sidebar. A page that has an entry is listed here, once it exists."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the sidebar: a route that takes `mer_id` and `mode`, and a symbol of images/dashboard-icons.svg.

    `count` names a function (`package.module.function`) of a seat that returns what waits there; zero is not shown.
    """

    route: str
    label: str
    icon: str
    count: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Entries under a heading; the first group has none."""

    heading: str
    entries: tuple[Entry, ...]


# Only pages that exist: a route nobody knows breaks every page of the dashboard.
GROUPS: Final = (
    Group(
        "",
        (
            Entry("dashboard_overview", "Overview", "home"),
            Entry("dashboard_checkouts", "Checkouts", "card"),
            Entry("dashboard_payments", "Payments", "arrows"),
            Entry(
                "dashboard_inbox",
                "Inbox",
                "inbox",
                count="checkouts.dashboard.inbox_queries.open_count",
            ),
        ),
    ),
    Group("Money", (Entry("dashboard_reports", "Reports", "chart"),)),
    Group(
        "Build",
        (
            Entry(
                "dashboard_webhooks",
                "Webhooks",
                "hook",
                count="webhooks.dashboard.queries.failing_count",
            ),
            Entry("dashboard_keys", "API keys", "key"),
        ),
    ),
    Group(
        "Business",
        (
            Entry("dashboard_branding", "Branding", "palette"),
            Entry("dashboard_receiving_wallets", "Receiving wallets", "wallet"),
            Entry("dashboard_fees", "Fees", "chart"),
            Entry("dashboard_audit_log", "Audit log", "log"),
            Entry("dashboard_data_export", "Data export", "download"),
            Entry("dashboard_team", "Team", "people"),
        ),
    ),
)
