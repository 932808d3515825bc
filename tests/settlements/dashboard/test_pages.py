"""The pages of settlements: the figures, what was sent on, and settling with our gas or with one's own wallet."""

from decimal import Decimal

import pytest
from django.utils import timezone

from accounts.states import Mode
from settlements.models import Hold
from settlements.states import Sender, SettlementStatus
from tests.dashboard.machines import make_gas_transaction, make_settlement
from tests.dashboard.people import Desk
from tests.reports.takings import receive
from wallets.states import ClaimKind

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("local_nodes")]

SETTLE = {"purpose": "checkout", "chain": "base", "token": "USDC"}
HASH = "0x" + "5e" * 32


def said(desk: Desk) -> str:
    """What the page after an act says."""
    return str(desk.get("dashboard_settlements").text)


def test_the_figures_keep_all_their_decimals(owner: Desk) -> None:
    receive(owner.merchant, 1_250_004_500)
    page = said(owner)
    assert page.count("</span> 1,250.0045") == 4
    assert page.count("</span> 0.00") == 2


def test_the_figures_add_up_by_line_and_in_all(owner: Desk) -> None:
    transfer = receive(owner.merchant, 25_000_000)
    receive(owner.merchant, 5_500_000, chain="polygon", token="USDT")
    assert transfer.deposit is not None
    Hold.objects.create(merchant=owner.merchant, mode="live", subject_id="chk", nonce=transfer.deposit.nonce)
    sums = owner.get("dashboard_settlements").context["sums"]
    assert [(line.chain, line.token, line.received) for line in sums.lines] == [
        ("base", "USDC", Decimal(25)),
        ("polygon", "USDT", Decimal("5.5")),
    ]
    assert (sums.received, sums.waiting, sums.held) == (Decimal("30.5"), Decimal("30.5"), Decimal(25))
    owner.mode = Mode.TEST
    page = owner.get("dashboard_settlements")
    assert page.context["sums"].lines == []
    assert "Test mode moves no money" in page.text


def test_settlements_are_the_merchants_own_and_are_narrowed(viewer: Desk, stranger: Desk) -> None:
    now = timezone.now()
    good = make_settlement(viewer.merchant, transaction=make_gas_transaction(now=now))
    bad = make_settlement(
        viewer.merchant,
        status=SettlementStatus.FAILED,
        error="The transaction was reverted: nothing moved.",
        purpose=ClaimKind.X402,
    )
    other = make_settlement(stranger.user.memberships.get().merchant)
    page = viewer.get("dashboard_settlements")
    assert [row.id for row in page.context["rows"]] == [bad.public_id, good.public_id]
    assert "nothing moved" in page.text
    assert "0.00021 ETH" in page.text
    for query in ("?purpose=x402", "?status=failed"):
        rows = viewer.get("dashboard_settlements", query).context["rows"]
        assert [row.id for row in rows] == [bad.public_id]
    name = "dashboard_settlement"
    assert viewer.get(name, settlement_id=other.public_id).status_code == 404
    assert stranger.get("dashboard_settlements").status_code == 404


def test_a_batch_that_ended_or_is_anothers_is_not_there(owner: Desk, viewer: Desk, stranger: Desk) -> None:
    name, other = "dashboard_wallet_settlement", stranger.user.memberships.get()
    pending = SettlementStatus.PENDING
    for made in (
        make_settlement(owner.merchant, sender=Sender.WALLET),
        make_settlement(other.merchant, sender=Sender.WALLET, status=pending),
        make_settlement(owner.merchant, status=pending),
    ):
        assert owner.get(name, batch=made.batch).status_code == 404
        sent = owner.post(name, {"tx_hash": HASH}, batch=made.batch)
        assert sent.status_code == 404
    assert viewer.get(name, batch="x").status_code == 403
    assert viewer.post("dashboard_settle", SETTLE).status_code == 403
    assert viewer.post("dashboard_settle_by_wallet", SETTLE).status_code == 403
