"""The pages of x402: what machines paid, where they pay, and who may change that."""

import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEntry
from accounts.states import Mode
from checkouts.models import DailyTotal
from gateway.core.api.pagination import PAGE_ROWS
from settlements.models import Settlement
from tests.contract.client import client_of
from tests.dashboard.machines import GAS_KEY, make_machine_payment, of_transfer
from tests.dashboard.people import Desk
from tests.reports.takings import earn, receive
from tests.x402.euros import take_euros
from tests.x402.recorded import make_machine_transfer, make_payable, make_seller
from wallets.dashboard.rows import explorer_url
from wallets.models import DepositAddress
from wallets.states import TransferState
from x402.models import Forwarder, MachineSettings
from x402.payments.addresses import known_pay_to
from x402.states import PaymentStatus

pytestmark = pytest.mark.django_db


def shown(desk: Desk, query: str = "", page: str = "dashboard_x402") -> list[str]:
    """The hashes on a page, in its order."""
    answer = desk.get(page, query)
    assert answer.status_code == 200
    return [row.tx_hash for row in answer.context["rows"]]


def test_payments_are_the_merchants_own_of_the_mode_newest_first(owner: Desk, stranger: Desk) -> None:
    older = make_machine_payment(owner.merchant)
    newer = make_machine_payment(owner.merchant, resource="<b>a report")
    tried = make_machine_payment(owner.merchant, mode=Mode.TEST)
    make_machine_payment(stranger.user.memberships.get().merchant)
    assert shown(owner) == [newer.tx_hash, older.tx_hash]
    page = owner.get("dashboard_x402").text
    assert "&lt;b&gt;a report" in page
    assert "Verified" in page
    owner.mode = Mode.TEST
    assert shown(owner) == [tried.tx_hash]
    assert stranger.get("dashboard_x402").status_code == 404


def test_only_real_payments_lead_to_an_explorer(owner: Desk, settings: Any) -> None:
    settings.CHAIN_NETWORK = "mainnet"
    for mode in Mode:
        make_machine_payment(owner.merchant, mode=mode)
        owner.mode = mode
        [row] = owner.get("dashboard_x402").context["rows"]
        assert bool(explorer_url(row)) is (mode == Mode.LIVE)


def test_pages_lead_on_with_their_filter(owner: Desk) -> None:
    for _ in range(PAGE_ROWS + 1):
        make_machine_payment(owner.merchant)
    page = owner.get("dashboard_x402", "?chain=base")
    assert len(page.context["rows"]) == PAGE_ROWS
    older = page.context["pager"].older
    assert "chain=base" in older
    assert len(shown(owner, f"?{older}")) == 1


def test_a_merchant_without_payments_learns_what_x402_is(owner: Desk) -> None:
    page = owner.get("dashboard_x402").text
    assert "No machine has paid yet" in page
    assert "/api/v1/x402/verify" in page
    assert "Machines cannot pay you yet" in page


def test_owners_and_admins_say_whether_payers_must_sign(admin: Desk, viewer: Desk) -> None:
    url, recommended = "dashboard_x402_signature", "We recommend that you require it."
    assert recommended in admin.get("dashboard_x402_setup").text
    assert viewer.post(url, {"required": "yes"}).status_code == 403
    admin.post(url, {"required": "yes"})
    assert MachineSettings.objects.get().requires_signature
    page = admin.get("dashboard_x402_setup").text
    assert "Accept hashes without a signature" in page
    assert recommended not in page
    entry = AuditEntry.objects.get(action="x402.requirements_set")
    assert (entry.actor, entry.after) == (admin.user, {"requires_signature": True})
    admin.post(url, {"required": "no"})
    assert not MachineSettings.objects.get().requires_signature


def test_machines_and_buyers_stand_side_by_side_in_payments(owner: Desk, settings: Any) -> None:
    to = make_seller(owner.merchant, settings)
    bought = earn(owner.merchant, block_time=timezone.now() - timedelta(hours=2))
    paid = make_machine_transfer(owner.merchant, to)
    of_transfer(paid, resource="<i>a report")
    loose = receive(owner.merchant)
    answer = owner.get("dashboard_payments")
    kinds = {row.tx_hash: (row.kind, row.resource) for row in answer.context["rows"]}
    assert kinds[paid.tx_hash] == ("x402", "<i>a report")
    assert kinds[bought.tx_hash] == ("Checkout", "")
    assert "&lt;i&gt;a report" in answer.text
    payments = "dashboard_payments"
    assert shown(owner, "?kind=x402", payments) == [paid.tx_hash]
    assert set(shown(owner, "?kind=checkout", payments)) == {bought.tx_hash, loose.tx_hash}
    credited = shown(owner, "?state=credited", payments)
    assert credited == [paid.tx_hash, bought.tx_hash]
    assert shown(owner, "?state=uncredited", payments) == [loose.tx_hash]


def test_in_test_mode_too_machines_and_buyers_stand_side_by_side_in_payments(owner: Desk) -> None:
    owner.mode = Mode.TEST
    now = timezone.now()
    earlier = now - timedelta(hours=1)
    tried = make_machine_payment(owner.merchant, mode=Mode.TEST, now=earlier)
    make_machine_payment(owner.merchant)
    newer = receive(owner.merchant, mode=Mode.TEST, block_time=now)
    older = receive(owner.merchant, mode=Mode.TEST, block_time=now - timedelta(hours=2))
    page = "dashboard_payments"
    hashes = [newer.tx_hash, tried.tx_hash, older.tx_hash]
    assert shown(owner, "", page) == hashes
    assert shown(owner, "?kind=checkout", page) == [hashes[0], hashes[2]]
    assert shown(owner, "?kind=x402", page) == [tried.tx_hash]
    assert shown(owner, "?state=credited", page) == [tried.tx_hash]
    assert shown(owner, "?kind=x402&state=orphaned", page) == []


def test_the_overview_has_machines_beside_checkouts(owner: Desk, settings: Any) -> None:
    to, now = make_seller(owner.merchant, settings), timezone.now()
    for units, days in ((2_500_000, 0), (500_000, 3), (9_000_000, 8)):
        at = {"block_time": now - timedelta(days=days)}
        of_transfer(make_machine_transfer(owner.merchant, to, units, **at))
    lost = {"state": TransferState.ORPHANED}
    of_transfer(make_machine_transfer(owner.merchant, to, 9_000_000, **lost))
    # Nobody has shown it as a proof.
    make_machine_transfer(owner.merchant, to, 9_000_000)
    make_machine_payment(owner.merchant, 1_000_000, mode=Mode.TEST)
    chart = owner.get("dashboard_overview", "?days=7").context["chart"]
    assert (chart.machines.count, chart.machines.volume) == (2, Decimal(3))
    today = chart.days[-1]
    assert (len(chart.days), today.share, today.machine_share) == (7, 0, 625)
    assert chart.days[3].machine_share == 125
    assert [(one.chain, one.volume) for one in chart.networks] == [("base", 3)]
    owner.mode = Mode.TEST
    chart = owner.get("dashboard_overview", "?days=7").context["chart"]
    assert (chart.machines.count, chart.days[-1].machines.volume) == (1, Decimal(1))


def test_machines_stand_on_top_of_checkouts_in_the_chart(owner: Desk, settings: Any) -> None:
    to, now = make_seller(owner.merchant, settings), timezone.now()
    of_transfer(make_machine_transfer(owner.merchant, to, 3_000_000))
    DailyTotal.objects.create(
        merchant=owner.merchant,
        mode=Mode.LIVE,
        day=now.date(),
        chain="polygon",
        token="USDC",
        completed=1,
        volume=Decimal(1),
    )
    chart = owner.get("dashboard_overview").context["chart"]
    today = chart.days[-1]
    assert (today.share, today.machine_share, today.top) == (250, 750, 1000)
    assert chart.best == 4
    assert [one.chain for one in chart.networks] == ["base", "polygon"]


def test_payments_are_narrowed_and_leave_as_a_file(viewer: Desk) -> None:
    merchant = viewer.merchant
    make_machine_payment(merchant)
    tron = make_machine_payment(merchant, chain="tron", token="USDT", status=PaymentStatus.REVERSED, resource="=1+1")
    for query in ("?chain=tron", "?token=USDT", "?status=reversed"):
        assert shown(viewer, query) == [tron.tx_hash]
    assert len(shown(viewer, "?chain=x&token=%00&status=y&before=z")) == 2
    assert "No payments match" in viewer.get("dashboard_x402", "?chain=ton").text
    file = viewer.get("dashboard_x402_csv", "?chain=tron")
    lines = b"".join(file.streaming_content).decode("utf-8-sig").splitlines()
    assert len(lines) == 2
    assert "'=1+1" in lines[1]
    assert "0.010000" in lines[1]


def test_the_command_to_try_is_valid_with_a_test_key(owner: Desk, settings: Any) -> None:
    make_seller(owner.merchant, settings)
    call = owner.get("dashboard_x402").context["call"]
    body = json.loads(call.partition("-d '")[2].rstrip().removesuffix("'"))
    answer = client_of(owner.merchant, Mode.TEST).send("POST", "/x402/verify", body)
    assert answer.body["valid"], answer.body


def test_the_python_of_the_set_up_page_is_python(owner: Desk) -> None:
    shown = owner.get("dashboard_x402_setup").context["snippets"]
    assert [one.label for one in shown][-1] == "Python middleware"
    compile(shown[-1].code, "snippet", "exec")


def test_the_three_figures_add_up(owner: Desk, settings: Any) -> None:
    to = make_seller(owner.merchant, settings)
    for units in (10_000, 30_000):
        final = {"state": TransferState.CONFIRMED, "confirmed_at": timezone.now()}
        make_machine_transfer(owner.merchant, to, units, **final)
    sums = owner.get("dashboard_x402").context["sums"]
    assert [(line.chain, line.received, line.waiting) for line in sums.lines] == [
        ("base", Decimal("0.04"), Decimal("0.04"))
    ]
    assert sums.received == sums.waiting + sums.settled


def test_in_test_mode_the_figures_are_those_of_simulated_payments(owner: Desk) -> None:
    owner.mode = Mode.TEST
    make_machine_payment(owner.merchant, mode=Mode.TEST)
    make_machine_payment(owner.merchant, mode=Mode.TEST, chain="solana", tx_hash="s")
    make_machine_payment(owner.merchant)
    sums = owner.get("dashboard_x402").context["sums"]
    assert (sums.received, sums.waiting, sums.settled) == (Decimal("0.02"), Decimal("0.01"), Decimal("0.01"))


def test_set_up_shows_where_machines_pay_and_what_is_missing(owner: Desk, settings: Any) -> None:
    to = make_seller(owner.merchant, settings)
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | {
        "SOLANA_RPC_URLS": "http://127.0.0.1:1",
        "POLYGON_RPC_URLS": "http://127.0.0.1:1",
    }
    page = owner.get("dashboard_x402_setup")
    assert f'data-copy="{to}"' in page.text
    found = {place.chain: str(place.missing) for place in page.context["places"]}
    assert found == {
        "base": "",
        "polygon": "receiving_wallet",
        "solana": "wallet",
        "ton": "node",
        "tron": "node",
        "ethereum": "node",
    }
    assert "No receiving wallet on Polygon" in page.text
    assert "No wallet for machines" in page.text
    assert owner.url("dashboard_x402_wallet", chain="solana") in page.text


def test_looking_at_the_pages_makes_no_address_and_asking_for_one_does(
    admin: Desk, viewer: Desk, settings: Any
) -> None:
    make_payable(admin.merchant, settings)
    for desk in (admin, viewer):
        assert "Machines cannot pay you yet" in desk.get("dashboard_x402").text
        page = desk.get("dashboard_x402_setup")
        assert "It has not been created yet" in page.text
        assert ("Show the address on Base" in page.text) == (desk is admin)
    assert viewer.post("dashboard_x402_forwarders").status_code == 403
    assert not DepositAddress.objects.exists()
    asked = admin.post("dashboard_x402_forwarders")
    assert asked["Location"] == admin.url("dashboard_x402_setup")
    made = known_pay_to(admin.merchant.pk, Mode.LIVE, "base")
    assert f'data-copy="{made}"' in viewer.get("dashboard_x402_setup").text
    assert DepositAddress.objects.count() == Forwarder.objects.count() == 1


def test_euros_have_a_line_and_are_in_no_sum_of_dollars(owner: Desk, settings: Any) -> None:
    to = make_seller(owner.merchant, settings)
    take_euros(settings)
    final = {"state": TransferState.CONFIRMED, "confirmed_at": timezone.now()}
    for token, units in (("USDC", 3_000_000), ("EURC", 7_000_000)):
        of_transfer(make_machine_transfer(owner.merchant, to, units, token=token, **final))
    page = owner.get("dashboard_x402")
    sums = page.context["sums"]
    assert [(line.token, line.received) for line in sums.lines] == [("EURC", Decimal(7)), ("USDC", Decimal(3))]
    assert (sums.received, sums.waiting, sums.settled) == (Decimal(3), Decimal(3), Decimal(0))
    assert [line.token for line in sums.others] == ["EURC"]
    assert "Total in USD" in page.text
    assert shown(owner, "?token=EURC") != shown(owner)
    chart = owner.get("dashboard_overview", "?days=7").context["chart"]
    assert (chart.machines.count, chart.machines.volume) == (2, Decimal(3))
    assert owner.get("dashboard_closing").text.count("3.00 and 7.00 EURC") == 1
    assert "USDC and EURC" in owner.get("dashboard_x402_setup").text


def test_euros_alone_can_be_settled(owner: Desk, settings: Any) -> None:
    to = make_seller(owner.merchant, settings)
    take_euros(settings)
    settings.GAS_KEYS = [GAS_KEY]
    final = {"state": TransferState.CONFIRMED, "confirmed_at": timezone.now()}
    of_transfer(make_machine_transfer(owner.merchant, to, 7_000_000, token="EURC", **final))
    page = owner.get("dashboard_x402")
    assert (page.context["sums"].waiting, page.context["sums"].is_waiting) == (Decimal(0), True)
    assert "Settle now" in page.text
    wanted = {"purpose": "x402", "chain": "base", "token": "EURC"}
    assert owner.post("dashboard_settle", wanted).status_code == 302
    assert [(one.token, int(one.units)) for one in Settlement.objects.all()] == [("EURC", 7_000_000)]


def test_in_test_mode_euros_are_in_no_sum_of_dollars_either(owner: Desk, settings: Any) -> None:
    take_euros(settings)
    owner.mode = Mode.TEST
    for token in ("USDC", "EURC"):
        make_machine_payment(owner.merchant, 2_000_000, mode=Mode.TEST, token=token)
    assert owner.get("dashboard_x402").context["sums"].received == Decimal(2)
    chart = owner.get("dashboard_overview", "?days=7").context["chart"]
    assert (chart.machines.count, chart.machines.volume) == (2, Decimal(2))
