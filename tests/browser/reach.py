"""Whether every act of a page is within reach on a phone."""

from playwright.sync_api import Page

from tests.browser.conftest import DESKTOP, PHONE

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
