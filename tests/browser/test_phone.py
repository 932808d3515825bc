"""The dashboard on a phone: every act of every page within reach of a thumb."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from html import unescape
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.urls import resolve
from django.utils import timezone
from playwright.sync_api import Page

from accounts.audit.actors import Actor
from accounts.states import Mode, Role
from checkouts.models import Checkout, InboxItem
from checkouts.states import InboxReason
from payouts.batches.service import Wanted, make_batch
from payouts.models import Payout
from payouts.states import Method, PayoutStatus
from tests.accounts.fee_entries import charged
from tests.browser import test_settings, test_webhooks_desk
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.test_inbox import ambiguous_item
from tests.browser.test_settings import OTHER
from tests.browser.test_watched_wallets import busy_wallet
from tests.browser.test_x402_pages import settle_much
from tests.checkouts.dashboard.opened import tell
from tests.checkouts.factories import make_completed, make_overpaid, make_page_checkout
from tests.checkouts.inboxes import late_item
from tests.checkouts.till.terminals import make_terminal
from tests.dashboard.inboxes import make_report, reverse_a_payment
from tests.dashboard.machines import GAS_KEY, make_machine_payment
from tests.dashboard.people import Desk, make_desk
from tests.factories import WALLET, make_merchant, make_transfer, make_wallet
from tests.links.factories import make_subscriber, make_subscription_link, make_template
from tests.notices.browsers import Browser, make_chat
from tests.payouts.factories import approved, make_payout
from tests.rates.playing import price_in
from tests.reports.takings import copy, earn
from tests.routes import dashboard_routes
from wallets.models import Transfer
from wallets.states import ClaimKind, TransferState

# Acts are what a person clicks; of a field in a label the label counts, for all of it takes the tap.
_FUNCTIONS = """
(() => {
  const ACTS = "a[href], button, summary, select, textarea, input:not([type=hidden])";
  // Links in the middle of text are as high as their line, which WCAG 2.5.8 allows.
  const SIZED = "button, summary, select, textarea, input, label, .button, nav a, .menu a, .table a, .back a,"
    + " .page-head p > a:only-child, .card__head a";
  const acts = (root) => [...root.querySelectorAll(ACTS)]
    .filter((act) => !act.closest(".skip-link"))
    .map((act) => (act.matches("[type=radio], [type=checkbox], [type=file]") && act.closest("label")) || act);
  const shown = (act) => act.checkVisibility({ visibilityProperty: true }) && act.getClientRects().length > 0
    && act.offsetWidth > 1;
  const named = (act) => {
    const words = act.ariaLabel || act.textContent.trim().replace(/\\s+/g, " ") || act.name || act.type || "";
    return `${act.tagName.toLowerCase()} "${words.slice(0, 60)}"`;
  };
  const unfold = (root) => root.querySelectorAll("details:not(.switcher)").forEach((part) => { part.open = true; });

  const faultsOf = (act) => {
    const found = [];
    const { left, right, width, height } = act.getBoundingClientRect();
    if (left < -0.5 || right > innerWidth + 0.5) found.push(`reaches from ${left} to ${right}`);
    if (act.matches(SIZED) && (width < 24 || height < 24)) found.push(`is ${width} by ${height}`);
    act.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    const box = act.getClientRects()[0];
    const top = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    // What is off cannot be pressed anyway.
    if (!act.disabled && !act.contains(top) && !top?.closest("label")?.contains(act))
      found.push(`is covered by ${top?.outerHTML.slice(0, 80)}`);
    return found.map((fault) => `${named(act)} ${fault}`);
  };

  const judge = (root) => acts(root).filter(shown).flatMap(faultsOf);

  window.reach = {
    remember() {
      unfold(document);
      this.wide = acts(document).filter(shown);
    },
    page() {
      const found = judge(document);
      const { scrollWidth } = document.scrollingElement;
      if (scrollWidth > innerWidth) found.push(`the page is ${scrollWidth} wide`);
      const links = new Set(acts(document).filter(shown).map((act) => act.href).filter(Boolean));
      const gone = this.wide.filter((act) => act.isConnected && !shown(act)
        && !act.closest("#sidebar") && !links.has(act.href));
      return [...found, ...gone.map((act) => `${named(act)} is not there`)];
    },
    dialogs() {
      return [...document.querySelectorAll("dialog")].flatMap((dialog) => {
        dialog.showModal();
        const found = judge(dialog);
        dialog.close();
        return found;
      });
    },
    menu() {
      const bar = document.getElementById("sidebar");
      bar.showPopover();
      const found = judge(bar);
      for (const menu of bar.querySelectorAll(".switcher")) {
        menu.open = true;
        found.push(...judge(menu));
        menu.open = false;
      }
      const hidden = this.wide.filter((act) => act.isConnected && act.closest("#sidebar") && !shown(act));
      bar.hidePopover();
      return [...found, ...hidden.map((act) => `${named(act)} is not in the menu`)];
    },
  };
})()
"""


def out_of_reach(page: Page, *, menu: bool = False) -> list[str]:
    """Return what of a page's acts cannot be seen or pressed at 390 px, each with the reason.

    An act of the desk's page may be in the phone's menu, whose own acts are judged where `menu` asks for it. What opens
    is opened; dialogs are judged too. Leaves the page at the size of a phone.
    """
    page.wait_for_load_state()
    page.set_viewport_size(DESKTOP)
    page.evaluate(_FUNCTIONS)
    page.evaluate("reach.remember()")
    page.set_viewport_size(PHONE)
    found = page.evaluate("[...reach.page(), ...reach.dialogs()]")
    return [*found, *(page.evaluate("reach.menu()") if menu else [])]


pytestmark = [
    pytest.mark.usefixtures("empty_chains"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("chains_are_well"),
]

SOLANA = "7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU"
HREF = re.compile(r'href="([^"#?]*)"')
PREFIXES = ("/dashboard/", "/account/")
OVERPAID = "HR-20417"
MOST_OF_A_ROUTE = 2
"""So many objects of a kind are looked at: what can be done with one depends on its state."""
NO_PAGE = re.compile("^dashboard$|_(csv|inbox_export|qr|live|latest|preview|style|safe|renew_device)$")
"""Routes of files, of parts of pages that scripts fetch, and the one that only leads on."""


@pytest.fixture
def desk(settings: Any, empty_chains: dict[str, str]) -> Desk:
    """An owner of a merchant with something of everything."""
    price_in(settings, "EUR")
    desk = make_desk(factor=True)
    merchant = desk.merchant
    test_settings.furnish(desk)
    test_webhooks_desk.furnish(desk)
    settle_much(desk)
    copy(earn(merchant), 30)
    make_machine_payment(merchant)
    busy_wallet(desk)
    charged(merchant)
    make_desk(merchant, Role.ADMIN)
    desk.post("dashboard_invite", {"email": "ines@halden.example", "role": "viewer"})
    sell(desk)
    # Selling named other nodes; the pages of wallets ask these.
    settings.CHAIN_SETTINGS = settings.CHAIN_SETTINGS | empty_chains
    return desk


def sell(desk: Desk) -> None:
    """Checkouts in several states, links, and money that waits in the inbox."""
    merchant = desk.merchant
    paid = make_completed(merchant=merchant, order_ref="HR-20481")
    tell(paid)
    make_report(paid)
    make_completed(merchant=merchant, escrow=True)
    make_overpaid(merchant=merchant, order_ref=OVERPAID)
    make_subscriber(make_subscription_link(merchant, mode=desk.mode))
    make_template(merchant)
    reverse_a_payment(desk)
    ambiguous_item(desk)
    late_item(merchant=merchant, order_ref="HR-20399")
    make_page_checkout(merchant)
    # One waits for approval, one is to be paid, and one is in a batch.
    make_payout(merchant)
    make_terminal(merchant, Mode.LIVE)
    Browser().added(desk.user, merchant)
    make_chat(merchant, desk.user)
    paying = [approved(make_payout(merchant), desk.user) for _ in range(2)]
    wanted = Wanted([paying[0].public_id], WALLET, Method.LIST)
    make_batch(merchant, desk.mode, wanted, actor=Actor(desk.user), now=timezone.now())


def steps_of(desk: Desk) -> list[str]:
    """Return the addresses of pages that only a form leads to, or only a checkout in one state."""
    earlier = Checkout.objects.get(order_ref=OVERPAID)
    overpaid = earlier.public_id
    late = InboxItem.objects.get(reason=InboxReason.LATE)
    decide = desk.url("dashboard_inbox_decide", item_id=late.pk)
    make_wallet(make_merchant(), "ethereum", OTHER)
    asked = {"address": OTHER, "compared": "on"}
    proof = desk.post("dashboard_set_receiving_wallet", asked, chain="ethereum")
    make_wallet(make_merchant(), "solana", SOLANA)
    asked = {"address": SOLANA, "compared": "on"}
    machines = desk.post("dashboard_set_x402_wallet", asked, chain="solana")
    owed = {"purpose": "checkout", "chain": "polygon", "token": "USDT"}
    batch = desk.post("dashboard_settle_by_wallet", owed)
    final = Transfer.objects.get(payment__checkout__public_id=overpaid)
    machine = make_machine_payment(desk.merchant, transfer=final).public_id
    confirmed: dict[str, Any] = {"state": TransferState.CONFIRMED, "confirmed_at": timezone.now(), "queued_at": None}
    unused = make_transfer(earlier, purpose=ClaimKind.X402, **confirmed).public_id
    unsent = Payout.objects.get(merchant=desk.merchant, status=PayoutStatus.APPROVED)
    return [
        f"{desk.url('dashboard_payouts')}?status=sent",
        desk.url("dashboard_sent_payout", payout_id=unsent.public_id),
        f"{desk.url('dashboard_search')}?q=HR-20399",
        f"{desk.url('dashboard_customers')}?ref=secret-customer",
        f"{decide}?act=accept_late&seen=0",
        desk.url("dashboard_refund_item", item_id=late.pk),
        desk.url("dashboard_sent_refund_item", item_id=late.pk),
        f"{desk.url('dashboard_inbox_decide_many')}?act=dismiss&item={late.pk}",
        desk.url("dashboard_refund", checkout_id=overpaid),
        desk.url("dashboard_refund_machine", payment_id=machine),
        desk.url("dashboard_sent_refund_machine", payment_id=machine),
        desk.url("dashboard_refund_transfer", transfer_id=unused),
        desk.url("dashboard_sent_refund_transfer", transfer_id=unused),
        proof["Location"],
        machines["Location"],
        batch["Location"],
    ]


def pages_of(desk: Desk, seeds: Iterable[str]) -> dict[str, list[str]]:
    """Return the addresses of pages by route, `MOST_OF_A_ROUTE` of each: some, and all that their links lead to."""
    found: dict[str, list[str]] = defaultdict(list)
    waiting = list(seeds)
    for address in waiting:
        name = str(resolve(urlsplit(address).path).url_name)
        if NO_PAGE.search(name) or len(found[name]) == MOST_OF_A_ROUTE:
            continue
        answer = desk.client.get(address)
        # Others ask for something first, such as a verified address.
        if answer.status_code == 200:
            found[name].append(address)
            links = [unescape(link) for link in HREF.findall(answer.text)]
            ours = [link for link in links if link.startswith(PREFIXES)]
            waiting += [link for link in dict.fromkeys(ours) if link not in waiting]
    return found


def test_every_act_of_every_page_is_within_reach_on_a_phone(
    desk: Desk, open_desk: Callable[..., Page], live_server: Any, settings: Any
) -> None:
    start = desk.url("dashboard_overview")
    pages = pages_of(desk, [start, *steps_of(desk)])
    wanted = {route.name for route in dashboard_routes() if route.decision and "GET" in route.decision.acts}
    assert {name for name in wanted - set(pages) if not NO_PAGE.search(name)} == set()
    # With a key the gateway settles, which asks in a dialog.
    settings.GAS_KEYS = [GAS_KEY]
    page = open_desk(desk, "dashboard_overview", has_touch=True)
    found = []
    for address in chain.from_iterable(pages.values()):
        page.goto(live_server.url + address)
        faults = out_of_reach(page, menu=address == start)
        found += [f"{address}: {fault}" for fault in faults]
    assert found == []


SPOILT = """@media (max-width: 640px) {
  .topbar__new { display: none !important; }
  .mode-switch a { min-height: 0 !important; height: 12px; padding: 0 !important; }
  #id_email { width: 700px !important; max-width: none !important; }
  .skip-link { position: fixed; inset: 40% 0 0 !important; transform: none !important; }
}"""


def test_acts_that_are_hidden_small_covered_or_off_the_screen_are_found(open_desk: Callable[..., Page]) -> None:
    page = open_desk(make_desk(), "dashboard_team", bypass_csp=True)
    assert out_of_reach(page) == []
    page.add_style_tag(content=SPOILT)
    found = "\n".join(out_of_reach(page))
    for fault in ("is not there", "by 12", "reaches from", "is covered by", "wide"):
        assert fault in found
