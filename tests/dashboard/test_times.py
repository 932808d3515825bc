"""Times on the dashboard's pages: each is a `<time>`, which the script can write in the reader's own time zone."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.urls import reverse
from django.utils import timezone

from checkouts.states import InboxAct
from gateway.core.web.language_tags import utc
from tests.checkouts.inboxes import extra_item
from tests.dashboard.inboxes import ITEM, decide, make_report, undo_last
from tests.dashboard.people import Desk, make_desk
from tests.factories import NOON, make_key, make_merchant, make_wallet
from tests.links.factories import make_link
from tests.wallets.dashboard.test_pages import wait_for
from tests.wallets.dashboard.test_proofs import SIGNER, ask
from tests.wallets.watched_wallets import finish, watch
from tests.webhooks.factories import make_attempt, make_deliveries, make_endpoint
from wallets.models import WalletProof
from webhooks.endpoints.secrets import ensure_secret
from webhooks.models import Delivery, Endpoint

pytestmark = pytest.mark.django_db
BARE = re.compile(r"(?<![\w:+])\d\d:\d\d(?::\d\d)?\b")
TIME = re.compile(r"<time\b[^>]*>[^<]*</time>")
# Headings that say UTC, and what people see nothing of.
HIDDEN = re.compile(r"<(script|style|pre|svg|th|h2|head)\b.*?</\1>|<[^>]+>", re.DOTALL)
HOUR = timedelta(hours=1)


def test_a_time_is_written_in_utc_with_what_a_script_needs() -> None:
    assert utc(NOON) == ('<time datetime="2026-11-20T12:00:00Z" data-local="short">20 Nov 2026, 12:00 UTC</time>')
    assert ">20 Nov 2026, 12:00:00 UTC<" in utc(NOON, "seconds")
    assert utc(None) == ""


def test_no_page_has_a_time_that_a_script_cannot_find(settings: Any, empty_chains: dict[str, str]) -> None:
    without, bare = [], {}
    for name, page in _pages(make_desk(factor=True)):
        if page.status_code != 200:
            without.append(f"{name}: {page.status_code}")
        if not TIME.search(page.text):
            without.append(name)
        words = HIDDEN.sub(" ", TIME.sub("", page.text))
        if found := BARE.findall(words):
            bare[name] = found
    assert (without, bare) == ([], {})


def _pages(desk: Desk) -> Iterator[tuple[str, Any]]:
    for name, arguments in (*_of_people(desk), *_of_money(desk), *_of_events(desk)):
        yield name, desk.get(name, **arguments)
    Authenticator.objects.create(user=desk.user, type="webauthn", data={"name": "Key"}, last_used_at=timezone.now())
    for name in ("account_sessions", "mfa_list_webauthn"):
        yield name, desk.client.get(reverse(name))
    desk.post("dashboard_roll_webhook_secret")
    yield "dashboard_webhook_secret", desk.post("dashboard_webhook_secret")


def _of_people(desk: Desk) -> Iterator[tuple[str, dict[str, Any]]]:
    key, _ = make_key(desk.merchant)
    key.last_used_at = timezone.now()
    key.save()
    desk.post("dashboard_invite", {"email": "new@example.test", "role": "admin"})
    for name in ("dashboard_keys", "dashboard_team", "dashboard_audit_log"):
        yield name, {}
    yield "dashboard_key", {"key_id": key.public_id}
    yield ("dashboard_link", {"link_id": make_link(desk.merchant, mode=desk.mode).public_id})


def _of_money(desk: Desk) -> Iterator[tuple[str, dict[str, Any]]]:
    item = extra_item(merchant=desk.merchant)
    assert item.checkout is not None
    make_report(item.checkout)
    decide(desk, item, InboxAct.DISMISS)
    undo_last(desk, item)
    decide(desk, item, InboxAct.DISMISS)
    yield ITEM, {"item_id": item.pk}
    yield "dashboard_buyer_reports", {}
    yield "dashboard_checkout", {"checkout_id": item.checkout.public_id}
    wait_for(desk.merchant, desk)
    desk.merchant.next_wallet_change_hours = 12
    desk.merchant.next_wallet_change_hours_at = timezone.now() + HOUR
    desk.merchant.save()
    yield "dashboard_receiving_wallets", {}
    make_wallet(make_merchant("Squatter Ltd"), "ethereum", SIGNER.address)
    ask(desk)
    # Takes the message about the change, which is plain words.
    desk.get("dashboard_overview")
    proof = WalletProof.objects.get()
    yield "dashboard_prove_receiving_wallet", {"proof_id": proof.pk}
    wallet = watch(desk.merchant)
    finish(wallet)
    yield "dashboard_watched_wallet", {"wallet_id": wallet.public_id}


def _of_events(desk: Desk) -> Iterator[tuple[str, dict[str, Any]]]:
    ensure_secret(desk.merchant, now=NOON)
    Endpoint.objects.filter(is_default=True).delete()
    troubled: dict[str, Any] = {"failing_since": NOON, "disabled_at": NOON, "next_probe_at": NOON}
    endpoint = make_endpoint(desk.merchant, **troubled)
    make_endpoint(desk.merchant, "https://old.example/", is_default=False)
    delivery = make_deliveries(endpoint)[0]
    make_attempt(delivery)
    Delivery.objects.filter(pk=delivery.pk).update(finished_at=NOON)
    yield "dashboard_webhooks", {}
    yield "dashboard_deliveries", {}
    yield "dashboard_delivery", {"delivery_id": delivery.public_id}
