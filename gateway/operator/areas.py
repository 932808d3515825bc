"""The operator's sidebar: its entries, and the one that a page belongs to."""

from dataclasses import dataclass
from typing import Any, Final

from django.urls import reverse


@dataclass(frozen=True, slots=True)
class Area:
    """An entry of the operator's sidebar. `view` is its page's route name, `words` its description."""

    title: str
    view: str
    icon: str
    words: str


_AREAS: Final = (
    Area("Health", "admin:health", "heart", "Queues, chains and their nodes, webhook endpoints that do not answer."),
    Area(
        "Merchants",
        "admin:accounts_merchant_changelist",
        "card",
        "Plans and fees, reopening a closed account, looking at a merchant's pages.",
    ),
    Area("People", "admin:accounts_user_changelist", "people", "People with a login, and ending their sessions."),
    Area(
        "Source differences",
        "admin:wallets_sourcedifference_changelist",
        "arrows",
        "Disagreements between two nodes of a chain.",
    ),
    Area(
        "Fiat waitlist",
        "admin:accounts_fiatinterest_changelist",
        "inbox",
        "Merchants who want to be paid out in fiat money.",
    ),
    Area(
        "Audit log",
        "admin:accounts_auditentry_changelist",
        "log",
        "What was changed, by whom and when, in all merchants' accounts.",
    ),
)


def areas_at(path: str) -> list[dict[str, Any]]:
    """Return the sidebar's entries: title, url, icon, words, and `is_here` for the entry of the page at `path`."""
    return [_line(area, path) for area in _AREAS]


def title_at(path: str) -> str:
    """Return the sidebar's name for the page at `path`."""
    [title] = [area["title"] for area in areas_at(path) if area["is_here"]]
    return str(title)


def _line(area: Area, path: str) -> dict[str, Any]:
    url = reverse(area.view)
    return {"title": area.title, "icon": area.icon, "words": area.words, "url": url, "is_here": path.startswith(url)}
