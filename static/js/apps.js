// The ways into wallet apps on a phone: the last used one first, and what to do when nothing opened. Each is a link that works
// without any of this.
import { FAMILY_NAMES, findWallets } from "./discovery.js";

const MEMORY = "florin:wallet";
const OPENING_MS = 2500;
// Some wallets come late to their own browser.
const ARRIVING_MS = 1500;
const TELEGRAM = /^https:\/\/web[kz]?\.telegram\.org$/;

let say = null;
let opening = null;
let arriving = null;
// What help is shown: "nothing" for the app whose link was tapped, or "elsewhere".
let help = "";
let tapped = "";

const linkOf = (app) => document.getElementById(`app-${app}`);

function lastUsed() {
  try {
    return localStorage.getItem(MEMORY);
  } catch {
    return null;
  }
}

function remember(app) {
  try {
    localStorage.setItem(MEMORY, app);
  } catch {
    // Storage is refused in some frames; the usual order does.
  }
}

// As many as before stay unfolded.
function putFirst(area, app) {
  const links = [...area.querySelectorAll("[data-app]")];
  const first = links.find(({ dataset }) => dataset.app === app);
  if (!first) return;
  const focused = document.activeElement;
  const [shown, folded] = area.querySelectorAll("ol");
  const count = shown.children.length;
  const items = [first, ...links.filter((link) => link !== first)].map((link) => link.parentElement);
  shown.replaceChildren(...items.slice(0, count));
  folded?.replaceChildren(...items.slice(count));
  for (const link of links) link.classList.toggle("button--primary", link === first);
  const tag = document.createElement("small");
  tag.textContent = area.dataset.last;
  first.append(" ", tag);
  focused?.focus({ preventScroll: true });
}

// Telegram opens web addresses by this event alone: in its apps other links end in an error, in its frame they replace us.
function openTelegram() {
  const eventType = "web_app_open_link";
  const proxy = window.TelegramWebviewProxy;
  if (proxy) return (url) => proxy.postEvent(eventType, JSON.stringify({ url }));
  const origin = location.ancestorOrigins?.[0] ?? "";
  if (!TELEGRAM.test(origin)) return null;
  return (url) => parent.postMessage(JSON.stringify({ eventType, eventData: { url } }), origin);
}

// There a wallet's browser cannot be reached: the buyer's own browser can, and from there all of them.
function fitTelegram(area) {
  const browser = document.getElementById("apps-browser");
  if (browser) {
    browser.hidden = false;
    for (const part of area.querySelectorAll("ol, details")) part.hidden = true;
  }
  for (const link of area.querySelectorAll("[data-app]")) link.parentElement.hidden = link.protocol !== "https:";
}

// Chromium on Android does. Firefox may show an error instead, and tells no `userAgentData`; a browser inside an app may, too.
function followsIntents() {
  const { platform, brands = [] } = navigator.userAgentData ?? {};
  return platform === "Android" && !brands.some(({ brand }) => brand.includes("WebView"));
}

// A page that is drawn anew shows it again, and says nothing.
function showHelp({ isNew = false } = {}) {
  const area = document.getElementById("apps-help");
  const link = linkOf(tapped);
  if (!area || !help || (help === "nothing" && !link)) return;
  const again = document.getElementById("apps-again");
  again.hidden = help !== "nothing";
  if (link) {
    const isWeb = (url) => url.startsWith("https:");
    const other = (followsIntents() && link.dataset.intent) || (link.dataset.again ?? link.href);
    again.href = openTelegram() && !isWeb(other) ? link.href : other;
    again.target = isWeb(again.href) ? "_blank" : "";
  }
  for (const words of area.querySelectorAll("[data-help]")) words.hidden = words.dataset.help !== help;
  area.hidden = false;
  if (isNew) say(area.querySelector(`[data-help="${help}"]`).textContent.trim());
}

// Nobody tells a page whether an app opened. If it did, the page is behind it.
function awaitOpening(app) {
  tapped = app;
  clearTimeout(opening);
  opening = setTimeout(() => {
    opening = null;
    help = "nothing";
    showHelp({ isNew: true });
  }, OPENING_MS);
}

const doNothing = () => {};
// What is behind a relay is no wallet of this browser.
const isFound = (family) => [...findWallets(family, doNothing).values()].some(({ isRelayed }) => !isRelayed);

// A wallet's browser that has a wallet, but none for this network.
function lookElsewhere() {
  const own = document.getElementById("wallets")?.dataset.family;
  const others = FAMILY_NAMES.filter((family) => family !== own);
  if (help || (own && isFound(own)) || !others.some(isFound)) return;
  help = "elsewhere";
  showHelp({ isNew: true });
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-app], #apps-again, #apps-browser");
  if (!link) return;
  const app = link.dataset.app ?? tapped;
  if (app) awaitOpening(app);
  const open = openTelegram();
  if (!open) return;
  event.preventDefault();
  open(link.href);
});

// Only what opened is worth coming first the next time.
function opened() {
  if (!opening) return;
  clearTimeout(opening);
  opening = null;
  remember(tapped);
}

document.addEventListener("visibilitychange", opened);
window.addEventListener("pagehide", opened);
window.addEventListener("blur", opened);

// Called for each drawing of the page; `announce` says words to who cannot see them.
export function guide(announce) {
  say = announce;
  const area = document.getElementById("apps");
  if (!area) return;
  if (help === "elsewhere") help = "";
  putFirst(area, lastUsed());
  if (openTelegram()) fitTelegram(area);
  showHelp();
  // The first question starts the search.
  FAMILY_NAMES.forEach(isFound);
  clearTimeout(arriving);
  arriving = setTimeout(lookElsewhere, ARRIVING_MS);
}
