"""Each file that the dashboard sends is in English in every language: programs read it. A new one is found here."""

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import Merchant
from gateway.dashboard.languages import FILES
from tests.dashboard.people import Desk, make_desk
from tests.dashboard.test_tenants import REST, objects_of
from tests.routes import Route, dashboard_routes

pytestmark = pytest.mark.django_db

# Pages, and what the dashboard's scripts ask for.
PAGES = {"text/html", "application/json"}
# It holds the time at which it was made.
TIMED = {"dashboard_download_data"}


def asked(owner: Desk, route: Route, objects: dict[str, Any]) -> Any:
    """The answer to a route that can be asked with these objects, None for another one."""
    names = [name for name, _ in route.arguments]
    is_read = route.decision and not route.decision.everybody and "GET" in route.decision.acts
    if not is_read or not objects.keys() >= set(names):
        return None
    return owner.client.get(owner.url(route.name, **{name: objects[name] for name in names}))


def is_sent_as_file(answer: Any) -> bool:
    """Whether an answer is neither a page nor what a script of ours asks for."""
    kind = answer["Content-Type"].partition(";")[0]
    return answer.status_code == 200 and (kind not in PAGES or "Content-Disposition" in answer)


def bytes_of(answer: Any) -> bytes:
    """All that was sent."""
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def spoken(owner: Desk, code: str) -> Desk:
    """The desk, its person keeping another language."""
    owner.user.language = code
    owner.user.save(update_fields=["language"])
    return owner


def test_every_file_is_known_as_one_and_is_the_same_in_every_language(merchant: Merchant, settings: Any) -> None:
    owner = make_desk(merchant, factor=True)
    objects = objects_of(owner, settings) | REST
    objects |= {"chain": "base", "kind": "accountant", "month": f"{timezone.now():%Y-%m}"}
    sent = {}
    for route in dashboard_routes():
        answer = asked(spoken(owner, "en"), route, objects)
        if answer is not None and is_sent_as_file(answer):
            english = bytes_of(answer)
            sent[route.name] = english, bytes_of(asked(spoken(owner, "es"), route, objects))
    assert {
        "dashboard_audit_log_csv",
        "dashboard_checkouts_csv",
        "dashboard_inbox_export",
        "dashboard_link_qr",
        "dashboard_month_csv",
        "dashboard_statement_csv",
    } <= sent.keys()
    assert {name for name in sent if name not in FILES and not name.endswith("_csv")} == set()
    assert {name for name, (english, spanish) in sent.items() if english != spanish} - TIMED == set()
