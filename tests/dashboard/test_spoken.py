"""No page of the dashboard says anything in English to a person of another language: what it says is in the catalogues."""

import re
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
SPOKEN = re.compile(r'\b(?:aria-label|title|alt|placeholder)="([^"]*)"')
INNERMOST = re.compile(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}")
WORD = re.compile(r"[^\W\d_]{3,}")


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
    text = UNSPOKEN.sub(" ", page)
    text = f"{strip_tags(text)} {' '.join(SPOKEN.findall(text))}"
    while INNERMOST.search(text):
        text = INNERMOST.sub(" ", text)
    return set(WORD.findall(text))


def test_everything_is_marked(merchant: Merchant, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = make_desk(merchant, factor=True)
    objects = objects_of(owner)
    owner.user.language = "es"
    owner.user.save()
    monkeypatch.setitem(trans_real._translations, "es", Marked(trans_real.translation("es")))
    out = {}
    for route in dashboard_routes():
        if not route.decision or "GET" not in route.decision.acts:
            continue
        try:
            here = owner.url(
                route.name,
                **{
                    name: (objects | REST | {"month": "2026-01", "chain": "base", "kind": "refund"})[name]
                    for name, _ in route.arguments
                },
            )
            for query in ("", "?page=1&status=all"):
                answer = owner.client.get(here + query)
                if answer.status_code == 200 and not answer.streaming and "html" in answer["Content-Type"]:
                    left = unmarked(answer.content.decode())
                    out[route.name + query] = sorted(left)
                else:
                    out[route.name + query] = answer.status_code
        except Exception as error:
            out[route.name] = repr(error)[:300]
    import json

    open("/tmp/t/walk.json", "w").write(json.dumps(out, indent=1, ensure_ascii=False))
