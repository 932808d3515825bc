"""Entries of the audit log are sentences with names and links, whatever the action."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from accounts.audit.service import record
from accounts.dashboard.audit_log import ACTIONS
from accounts.dashboard.audit_sentences import SENTENCES
from accounts.models import AuditEntry, Merchant
from accounts.states import Mode
from gateway.core.api.pagination import PAGE_ROWS
from tests.cases import case
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, make_key, make_merchant
from tests.tree import ROOT, python_sources

pytestmark = pytest.mark.django_db

FIELD: Final = re.compile(r"\{(\w+)\}")
RECORDED: Final = re.compile(r'"([a-z0-9_]+\.[a-z_]+)"')
# Entries without a merchant are read by operators alone.
OF_OPERATORS: Final = {
    "chain.resumed",
    "encryption_keys.rotated",
    "operator.appointed",
    "operator.dismissed",
    "person.deactivated",
    "person.reactivated",
    "source_differences.closed",
}


def line_of(desk: Desk) -> str:
    """The newest entry's sentence, as people read it."""
    return line_on(desk.get("dashboard_audit_log").text)


def line_on(page: str) -> str:
    """The same, of a page."""
    [first, *_] = sentences_on(page) or [""]
    return words_in(first)


def sentences_on(page: str) -> list[str]:
    """The sentences of a page with their links, the newest first."""
    return re.findall(r'<p class="audit__sentence">(.*?)</p>', page, re.DOTALL)


def words_in(sentence: str) -> str:
    """What people read of it."""
    return " ".join(re.sub(r"<[^>]+>", "", sentence).split())


def test_every_action_that_a_merchant_may_read_has_a_sentence() -> None:
    recorded = set()
    for path in python_sources():
        top = path.relative_to(ROOT).parts[0]
        if top in {
            "accounts",
            "checkouts",
            "links",
            "notices",
            "payouts",
            "settlements",
            "wallets",
            "webhooks",
            "x402",
        }:
            for line in re.findall(r"action=[^\n]+", path.read_text()):
                recorded |= {name for name in RECORDED.findall(line) if not name.endswith(".py")}
    assert "checkout.cancelled" in recorded
    assert (recorded | ACTIONS.keys()) - OF_OPERATORS - SENTENCES.keys() == set()


@pytest.mark.parametrize("about", sorted({action.partition(".")[0] for action in SENTENCES}))
def test_a_sentence_has_no_blank_and_leads_to_a_page(about: str, merchant: Merchant, owner: Desk) -> None:
    actions = [action for action in SENTENCES if action.partition(".")[0] == about]
    # The page shows so many at once.
    for some in batched(actions, PAGE_ROWS):
        for action in some:
            record_one(action, merchant)
        told = sentences_on(owner.get("dashboard_audit_log").text)[: len(some)]
        for action, shown in zip(reversed(some), told, strict=True):
            with case(action):
                check_sentence(action, merchant, shown)


def batched(actions: list[str], most: int) -> Iterator[list[str]]:
    """So many at a time."""
    return (actions[start : start + most] for start in range(0, len(actions), most))


def record_one(action: str, merchant: Merchant) -> None:
    """Record an entry of an action, with everything that its sentence names."""
    sentence = SENTENCES[action]
    fields = {*FIELD.findall(sentence.words), *filter(None, [sentence.key])} - {"object"}
    before: dict[str, Any] = {name.removeprefix("old_"): "viewer" for name in fields if name.startswith("old_")}
    after: dict[str, Any] = {name: "7" for name in fields if not name.startswith("old_")}
    object_id = "7" if sentence.argument == "item_id" else "chk_live_seven"
    record(merchant, action=action, now=NOON, object_id=object_id, before=before, after=after)


def check_sentence(action: str, merchant: Merchant, shown: str) -> None:
    """Look at the sentence of an entry of an action."""
    line = words_in(shown)
    assert line
    assert "{" not in line
    assert line[0].isupper() or line[0].isdigit()
    if SENTENCES[action].route:
        [url] = re.findall(r'href="([^"]+)"', shown)
        assert url.startswith(f"/dashboard/{merchant.public_id}/live/")


def test_keys_and_members_have_their_names_and_nobody_elses(merchant: Merchant, owner: Desk) -> None:
    key = make_key(merchant)[0]
    record(merchant, action="api_key.revoked", now=NOON, object_id=key.public_id)
    assert line_of(owner) == f"Revoked the API key {key.name}"
    admin = make_desk(merchant)
    roles: dict[str, Any] = {"before": {"role": "viewer"}, "after": {"role": "admin"}}
    record(merchant, action="member.role_changed", now=NOON, object_id=admin.user.public_id, **roles)
    assert line_of(owner) == f"Changed {admin.user.email} from viewer to admin"
    foreign = make_key(make_merchant("Other"))[0]
    record(merchant, action="api_key.revoked", now=NOON, object_id=foreign.public_id)
    assert line_of(owner) == f"Revoked the API key {foreign.public_id}"


def test_what_a_key_asked_for_in_a_day_names_the_key_and_the_sums(merchant: Merchant, owner: Desk) -> None:
    key = make_key(merchant, Mode.TEST)[0]
    amounts = {"USDC": "18.500000", "EURC": "1.000000"}
    after = {"day": "2026-11-20", "mode": "test", "payouts": 3, "amounts": amounts}
    record(merchant, action="payout.key_asked", now=NOON, object_id=key.public_id, after=after)
    said = "asked for 3 payouts of 1.000000 EURC, 18.500000 USDC on 2026-11-20"
    assert line_of(owner) == f"The API key {key.name} {said}"
    page = owner.get("dashboard_audit_log").text
    assert re.search(rf'href="/dashboard/{merchant.public_id}/test/[^"]*{key.public_id}', page)


def test_a_link_leads_to_the_mode_of_its_object(merchant: Merchant, owner: Desk) -> None:
    record(merchant, action="checkout.cancelled", now=NOON, object_id="chk_test_one", after={"cancelled": True})
    page = owner.get("dashboard_audit_log").text
    assert f"/dashboard/{merchant.public_id}/test/checkouts/chk_test_one/" in page
    # What the sentence says stands nowhere else.
    assert "<ins>on</ins>" not in page


def test_an_entry_whose_sentence_would_have_a_blank_has_its_label(merchant: Merchant, owner: Desk) -> None:
    record(merchant, action="invitation.sent", now=NOON, object_id="inv_one", after={"email": "ann@example.test"})
    page = owner.get("dashboard_audit_log").text
    assert "<b>Invitation sent</b>" in page
    assert "inv_one" in page
    assert "<ins>ann@example.test</ins>" in page


def test_names_cost_two_queries_for_a_page(merchant: Merchant, owner: Desk, django_assert_max_num_queries: Any) -> None:
    for _ in range(5):
        record(merchant, action="api_key.revoked", now=NOON, object_id=make_key(merchant)[0].public_id)
    owner.get("dashboard_audit_log")
    with django_assert_max_num_queries(40) as few:
        owner.get("dashboard_audit_log")
    for _ in range(5):
        record(merchant, action="api_key.revoked", now=NOON, object_id=make_key(merchant)[0].public_id)
    with django_assert_max_num_queries(len(few)):
        owner.get("dashboard_audit_log")
    assert AuditEntry.objects.count() >= 10
