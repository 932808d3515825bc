"""One page tells how the installation is."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEntry
from gateway.operator import health_page
from mails.models import OutgoingMail
from settlements.models import BookCheck, GasAccount, GasTransaction, SponsoredTransaction, TroubledForwarder
from settlements.states import Purpose
from tests.checkouts.watcher import attribute, events_of, pay
from tests.factories import LOCAL_NODES, NOON, make_checkout, make_live_chain, make_merchant
from tests.wallets.factories import make_deposit
from tests.webhooks.factories import make_deliveries, make_endpoint
from wallets.models import ChainCursor
from webhooks.models import Delivery, Endpoint
from webhooks.states import DeliveryStatus

pytestmark = pytest.mark.django_db


def page_of(client: Client) -> str:
    answer = client.get("/operator/health/")
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_a_quiet_installation_has_nothing_waiting(operators_browser: Client, settings: Any) -> None:
    settings.CHAIN_SETTINGS = {}
    page = page_of(operators_browser)
    for said in ("No chain has a node.", "Every endpoint answers.", "answers"):
        assert said in page


def test_what_waits_and_what_was_given_up_is_counted(operators_browser: Client) -> None:
    for number in range(3):
        due_at = NOON if number else None
        OutgoingMail.objects.create(key=f"m:{number}", recipient="a@b.example", due_at=due_at)
    context = operators_browser.get("/operator/health/").context
    mails = context["queues"][-1]
    assert (mails.label, mails.waiting, mails.oldest) == ("Mails to send", 2, NOON)
    assert context["given_up"] == 1


def test_a_node_that_does_not_answer_is_named(operators_browser: Client, settings: Any) -> None:
    settings.CHAIN_NETWORK = "local"
    settings.CHAIN_SETTINGS = dict(LOCAL_NODES)
    page = page_of(operators_browser)
    assert "base (local)" in page
    assert "down" in page


def test_an_operator_resumes_a_halted_chain_and_lost_orders_become_reversed(
    operators_browser: Client, settings: Any
) -> None:
    settings.CHAIN_SETTINGS = {}
    checkout = make_checkout()
    paid = pay(checkout)
    make_live_chain("base", halted_reason="a fork", doubted_above=paid.block_height - 1)
    page = page_of(operators_browser)
    assert "Base contradicts what it told us." in page
    assert "Compare it with two explorers, then resume it." in page
    assert str(checkout.merchant) in page
    asked = {"height": paid.block_height - 1}
    assert operators_browser.get("/operator/health/base/resume/").status_code == 405
    operators_browser.post("/operator/health/base/resume/", asked)
    assert ChainCursor.objects.get().halted_reason == "a fork"
    operators_browser.post("/operator/health/base/resume/", asked | {"sure": "on"})
    assert ChainCursor.objects.get().halted_reason == ""
    entry = AuditEntry.objects.get(action="chain.resumed")
    assert (entry.object_id, entry.after) == ("base", asked | {"transfers": 1})
    assert entry.actor is not None
    attribute()
    assert events_of(checkout) == ["completed", "reversed"]
    # A second press finds a chain that is read, and takes nothing back.
    operators_browser.post("/operator/health/base/resume/", asked | {"sure": "on"})
    assert AuditEntry.objects.filter(action="chain.resumed").count() == 1
    assert "contradicts" not in page_of(operators_browser)


def test_endpoints_that_fail_are_shown_the_worst_first(operators_browser: Client) -> None:
    merchant = make_merchant("Halden Roasters")
    for failures in (0, 5, 9):
        Endpoint.objects.create(
            merchant=merchant, mode="live", url=f"https://{failures}.halden.example/", consecutive_failures=failures
        )
    endpoints = operators_browser.get("/operator/health/").context["endpoints"]
    assert [row.consecutive_failures for row in endpoints] == [9, 5]


def test_failed_deliveries_are_counted_as_far_as_anybody_needs_to_know(
    operators_browser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_page, "_MOST_FAILED", 2)
    for count in (0, 1, 3):
        endpoint = make_endpoint(make_merchant(), consecutive_failures=9 - count)
        deliveries = make_deliveries(endpoint, count + 1)
        failed = [row.pk for row in deliveries[1:]]
        Delivery.objects.filter(pk__in=failed).update(status=DeliveryStatus.FAILED)
    answer = operators_browser.get("/operator/health/")
    assert [row.failed for row in answer.context["endpoints"]] == [0, 1, 2]
    assert "2 or more" in " ".join(answer.text.split())


def test_gas_that_runs_low_and_books_that_differ_are_shown(operators_browser: Client, settings: Any) -> None:
    settings.CHAIN_SETTINGS = {}
    GasAccount.objects.create(chain="base", address="0xGas", balance_wei=10**15, balance_at=NOON, doubt_told_at=NOON)
    BookCheck.objects.create(chain="base", checked_at=NOON, asked=7, height=12, differences=["one unit less"])
    TroubledForwarder.objects.create(
        deposit=make_deposit(),
        chain="base",
        token="USDC",
        failures=TroubledForwarder.MOST_FAILURES,
        failed_at=NOON,
        retry_at=NOON,
    )
    page = page_of(operators_browser)
    for said in ("0.001000: low", "number is in doubt", "one unit less", "7, at block 12"):
        assert said in page
    assert "1 could not be emptied three times and waits for a person" in page


def test_what_gas_cost_is_shown_by_purpose_and_merchant(operators_browser: Client, settings: Any) -> None:
    settings.CHAIN_SETTINGS = {}
    account = GasAccount.objects.create(chain="base", address="0xGas")
    merchant = make_merchant("Halden Roasters")
    for nonce, succeeded in enumerate((True, False)):
        GasTransaction.objects.create(
            account=account,
            nonce=nonce,
            purpose=Purpose.RELAY,
            reference=f"chk:{nonce}",
            merchant=merchant,
            payer="0xPayer",
            to="0x",
            data=b"",
            gas_limit=1,
            most_wei=10**15,
            cost_wei=10**15,
            succeeded=succeeded,
        )
    SponsoredTransaction.objects.create(
        chain="solana",
        reference="chk:2",
        merchant=merchant,
        fee_payer="ours",
        payer="payer",
        signed=b"",
        tx_hash="hash",
        fee=12_000,
        last_height=10,
    )
    page = page_of(operators_browser)
    for said in ("Halden Roasters", "Relay", "0.002000", "0.000012"):
        assert said in page
    spent = operators_browser.get("/operator/health/").context["gas_spent"]
    assert [(one.chain, one.count, one.failed) for one in spent] == [("base", 2, 1), ("solana", 1, 0)]
