"""A payment link whose checkouts appear at a terminal: the device that follows it sees them, and no other does."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.audit.actors import SYSTEM
from accounts.models import AuditEntry
from accounts.states import Mode
from checkouts.models import AmountReservation, Terminal, TerminalSale
from checkouts.till.pairing import revoke_terminal, show_link_at
from gateway.core.api.errors import ConflictError
from links.models import PaymentLink
from links.states import Interval, LinkType
from mails.models import OutgoingMail
from tests.checkouts.till.terminals import make_terminal, paired_device
from tests.checkouts.till.test_days import play
from tests.dashboard.people import Desk
from tests.factories import make_merchant
from tests.links.factories import make_donation, make_link
from tests.links.payer import Payer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("chains_are_well")]


def followed_by(link: PaymentLink, terminal: Terminal | None) -> None:
    """Let a terminal, or none, follow a link."""
    chosen = terminal.public_id if terminal else ""
    show_link_at(link.merchant, Mode(link.mode), link.public_id, chosen, actor=SYSTEM, now=timezone.now())


def path_of(link: PaymentLink) -> str:
    return f"/p/{link.code}"


def test_a_payment_by_the_link_appears_on_the_device_that_follows_it(client: Client, merchant: Any) -> None:
    link = make_donation(merchant, mode=Mode.TEST)
    device, other = (paired_device(make_terminal(merchant)) for _ in range(2))
    before = Payer(client).pay(path_of(link), amount="6.00")
    followed_by(link, device.terminal)
    checkout = Payer(client).pay(path_of(link), amount="7.20")
    sale = TerminalSale.objects.get()
    assert (sale.checkout_id, sale.terminal_id, sale.is_by_customer) == (checkout.pk, device.terminal.pk, True)
    shown = device.get("till_sales").text
    assert checkout.public_id in shown
    assert before.public_id not in shown
    assert checkout.public_id not in other.get("till_sales").text
    assert device.get("till_sale", checkout_id=checkout.public_id).status_code == 200
    assert other.get("till_sale", checkout_id=checkout.public_id).status_code == 404


def test_the_device_only_looks_at_what_a_customer_does_on_a_page_of_their_own(client: Client, merchant: Any) -> None:
    link, device = make_donation(merchant, mode=Mode.TEST), paired_device(make_terminal(merchant))
    followed_by(link, device.terminal)
    checkout = Payer(client).pay(path_of(link), amount="7.20")
    where = {"checkout_id": checkout.public_id}

    def looks() -> list[Any]:
        seen = [device.get("till_sale", query, **where) for query in ("", "?chain=base&token=USDC", "?code=page")]
        return [*seen, device.get("till_sale_status", **where)]

    for page in looks():
        assert page.status_code == 200
        assert "Waiting for the customer" in page.text
        assert checkout.code not in page.text
        assert "QR code of" not in page.text
    assert device.post("till_cancel", **where).status_code == 409
    assert device.post("till_choose", {"chain": "tron", "token": "USDT"}, **where)["Location"].endswith(
        checkout.public_id
    )
    checkout.refresh_from_db()
    assert (checkout.cancelled_at, AmountReservation.objects.count()) == (None, 0)
    play()
    for page in looks():
        assert "Paid" in page.text
        assert checkout.code not in page.text
        assert "Mail the receipt" not in page.text
    assert device.post("till_mail", {"email": "ann@shop.example"}, **where).status_code == 409
    assert not OutgoingMail.objects.exists()


@pytest.mark.parametrize(
    "values",
    [{"type": LinkType.SUBSCRIPTION, "interval": Interval.MONTH}, {"type": LinkType.INVOICE}, {"escrow": True}],
    ids=["subscription", "invoice", "escrow"],
)
def test_a_link_of_one_customer_or_of_held_money_is_followed_by_none(
    values: dict[str, Any], owner_in_test_mode: Desk, client: Client
) -> None:
    desk, bar = owner_in_test_mode, make_terminal(owner_in_test_mode.merchant)
    link = make_link(desk.merchant, mode=Mode.TEST, **values)
    where = {"link_id": link.public_id}
    assert "At a terminal" not in desk.get("dashboard_link", **where).text
    desk.post("dashboard_link_terminal", {"terminal": bar.public_id}, **where)
    bar.refresh_from_db()
    assert bar.follows == ""
    assert "without escrow appear at a terminal" in desk.get("dashboard_link", **where).text
    # It was another link when the terminal began to follow it: a person can end that.
    followed_by(link, bar)
    Payer(client).pay(path_of(link))
    assert not TerminalSale.objects.exists()
    assert bar.public_id in desk.get("dashboard_link", **where).text
    desk.post("dashboard_link_terminal", {"terminal": ""}, **where)
    bar.refresh_from_db()
    assert bar.follows == ""


def test_one_press_that_is_sent_twice_is_one_sale(client: Client, merchant: Any) -> None:
    link = make_donation(merchant, mode=Mode.TEST)
    followed_by(link, make_terminal(merchant))
    payer = Payer(client)
    form = payer.form(path_of(link))
    assert payer.pay(path_of(link), form, amount="5.00") == payer.pay(path_of(link), form, amount="5.00")
    assert TerminalSale.objects.count() == 1


def test_a_link_is_followed_by_one_terminal_and_a_terminal_follows_one_link(merchant: Any) -> None:
    tea, cake = (make_link(merchant, mode=Mode.TEST) for _ in range(2))
    bar, terrace = make_terminal(merchant), make_terminal(merchant)

    def follows() -> tuple[str, str]:
        return Terminal.objects.get(pk=bar.pk).follows, Terminal.objects.get(pk=terrace.pk).follows

    followed_by(tea, bar)
    assert follows() == (tea.public_id, "")
    followed_by(tea, terrace)
    assert follows() == ("", tea.public_id)
    followed_by(cake, terrace)
    assert follows() == ("", cake.public_id)
    followed_by(cake, terrace)
    followed_by(cake, None)
    assert follows() == ("", "")
    told = AuditEntry.objects.filter(action="terminal.changed").order_by("pk")
    assert [(entry.object_id, entry.after["follows"]) for entry in told if entry.after] == [
        (bar.public_id, tea.public_id),
        (bar.public_id, ""),
        (terrace.public_id, tea.public_id),
        (terrace.public_id, cake.public_id),
        (terrace.public_id, ""),
    ]


def test_a_revoked_terminal_follows_nothing(client: Client, merchant: Any) -> None:
    link, bar = make_donation(merchant, mode=Mode.TEST), make_terminal(merchant)
    followed_by(link, bar)
    revoke_terminal(bar, actor=SYSTEM, now=timezone.now())
    Payer(client).pay(path_of(link), amount="5.00")
    assert not TerminalSale.objects.exists()
    with pytest.raises(ConflictError):
        followed_by(link, bar)
    followed_by(link, make_terminal(merchant))


def test_a_link_and_a_terminal_are_of_one_merchant_and_mode(merchant: Any) -> None:
    link = make_link(merchant, mode=Mode.TEST)
    for foreign in (make_terminal(make_merchant()), make_terminal(merchant, Mode.LIVE)):
        with pytest.raises(ConflictError):
            followed_by(link, foreign)
        foreign.refresh_from_db()
        assert foreign.follows == ""


def test_a_person_chooses_the_terminal_on_the_links_page(owner_in_test_mode: Desk) -> None:
    desk = owner_in_test_mode
    link = make_link(desk.merchant, mode=Mode.TEST)
    where = {"link_id": link.public_id}
    assert "At a terminal" not in desk.get("dashboard_link", **where).text
    bar = make_terminal(desk.merchant)
    assert "At a terminal" in desk.get("dashboard_link", **where).text
    desk.post("dashboard_link_terminal", {"terminal": bar.public_id}, **where)
    bar.refresh_from_db()
    assert bar.follows == link.public_id
    page = " ".join(desk.get("dashboard_link", **where).text.split())
    assert f'value="{bar.public_id}" selected' in page
    assert link.public_id in desk.get("dashboard_terminal", terminal_id=bar.public_id).text
    foreign = make_terminal(make_merchant())
    for wrong in (foreign.public_id, "ter_test_nobody", "'"):
        assert desk.post("dashboard_link_terminal", {"terminal": wrong}, **where).status_code == 302
    assert desk.post("dashboard_link_terminal", {"terminal": "\x00"}, **where).status_code == 404
    bar.refresh_from_db()
    foreign.refresh_from_db()
    assert (bar.follows, foreign.follows) == (link.public_id, "")


def test_a_viewer_chooses_none(viewer: Desk) -> None:
    link, bar = make_link(viewer.merchant, mode=Mode.LIVE), make_terminal(viewer.merchant, Mode.LIVE)
    answer = viewer.post("dashboard_link_terminal", {"terminal": bar.public_id}, link_id=link.public_id)
    assert answer.status_code == 403
    assert "At a terminal" not in viewer.get("dashboard_link", link_id=link.public_id).text
