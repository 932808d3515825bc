"""No page of the dashboard says anything in English to a person of another language: what it says is in the catalogues."""

import re
from html import unescape
from typing import Any

import pytest
from django.utils.html import strip_tags
from django.utils.translation import trans_real

from accounts.models import Merchant
from tests.dashboard.people import Desk, make_desk
from tests.dashboard.test_tenants import REST, objects_of
from tests.routes import Route, dashboard_routes

pytestmark = pytest.mark.django_db

OPEN, CLOSE = "\u27e6", "\u27e7"
UNSPOKEN = re.compile(r"<(script|style|svg|pre|code)\b.*?</\1>|<!--.*?-->", re.DOTALL)
# Of entries of the audit log: who acted, and the values before and after, as they are stored. The sentence is said.
STORED = re.compile(r'<td class="audit__(?:who|changes)">.*?</td>', re.DOTALL)
SPOKEN = re.compile(r'\b(?:aria-label|title|alt|placeholder)="([^"]*)"')
INNERMOST = re.compile(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}")
# A word of a sentence: not an id, the end of a key, a scope, an event's type, a token, an address, or a name.
WORD = re.compile(r"(?<![\w.:/@#…-])[A-Z]?[a-z]{3,}(?![\w:/@-]|\.\w)")
NAMES = set(
    """
    Halden Roasters Bar Florin Base Polygon Solana Ethereum Tron Slack Discord Telegram Firefox Linux Python Node Cupping workshop Workshop
    erp orders base test note
""".split()
)
ELSEWHERE = {
    "dashboard_audit_log_check": "faults of the log are shown as they are found",
    "dashboard_months": "names of time zones",
    "dashboard_terminal_sign": "a sign is in languages of buyers",
    "dashboard_link_sign": "a sign is in languages of buyers",
    "dashboard_terminal": "a word of a list that Django cuts",
    "dashboard_payments": "names of tokens",
}


class Marked:
    """A language that says everything between brackets."""

    def __init__(self, language: Any) -> None:
        self.language = language

    def __getattr__(self, name: str) -> Any:
        return getattr(self.language, name)

    def gettext(self, message: str) -> str:
        return f"{OPEN}{message.rpartition(trans_real.CONTEXT_SEPARATOR)[2]}{CLOSE}"

    def ngettext(self, one: str, many: str, count: int) -> str:
        return self.gettext(one if count == 1 else many)


def unmarked(page: str) -> set[str]:
    """The words of a page outside brackets."""
    text = UNSPOKEN.sub(" ", STORED.sub(" ", page))
    text = unescape(f"{strip_tags(re.sub('<', ' <', text))} {' '.join(SPOKEN.findall(text))}")
    while INNERMOST.search(text):
        text = INNERMOST.sub(" ", text)
    return set(WORD.findall(text)) - NAMES


def pages(owner: Desk, objects: dict[str, Any]) -> dict[str, str]:
    """Each page of the dashboard that is there for these objects."""
    found = {}
    for route in dashboard_routes():
        if page := _page(owner, route, objects):
            found[route.name] = page
    return found


def _page(owner: Desk, route: Route, objects: dict[str, Any]) -> str:
    names = [name for name, _ in route.arguments]
    if not route.decision or "GET" not in route.decision.acts or not objects.keys() >= set(names):
        return ""
    if route.decision.everybody:
        return ""
    answer = owner.client.get(owner.url(route.name, **{name: objects[name] for name in names}))
    is_page = answer.status_code == 200 and not answer.streaming and answer["Content-Type"].startswith("text/html")
    return answer.text if is_page else ""


def test_no_page_says_anything_in_english(merchant: Merchant, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = make_desk(merchant, factor=True)
    objects = objects_of(owner, settings) | REST | {"chain": "base", "kind": "custom"}
    owner.user.language = "es"
    owner.user.save()
    monkeypatch.setitem(vars(trans_real)["_translations"], "es", Marked(trans_real.translation("es")))
    found = pages(owner, objects)
    assert len(found) > 60
    said = {name: words for name, page in found.items() if name not in ELSEWHERE and (words := unmarked(page))}
    assert said == {}
