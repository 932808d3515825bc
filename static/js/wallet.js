// The buttons that pay from a wallet in the browser, whatever its family. Loaded once there is one.
import { PAYING, SigningError, fits, paysFreely, reasonOf, showButtons, tell } from "./signing.js";

// How long a payment sent from this browser keeps the buttons shut if the network does not show it.
const SENT_MS = 5 * 60 * 1000;
// A wallet may never answer, if its window is closed.
const SILENT_MS = 60 * 1000;

let paying = null;

// The last one, remembered across reloads and tabs, so that an impatient buyer does not pay twice.
const MEMORY = "florin:sent";
const nameOf = ({ chainId, to, units }) => `${chainId}:${to}:${units}`;

function wasSent(request) {
  try {
    const [name, sentAt, before] = JSON.parse(localStorage.getItem(MEMORY));
    // The page names the last signature that was not used: this one, unless it was named already when this one was sent.
    const isUnused = request.unused && request.unused !== before;
    return name === nameOf(request) && !isUnused && Date.now() - sentAt < SENT_MS;
  } catch {
    return false;
  }
}

function remember(request) {
  try {
    localStorage.setItem(MEMORY, JSON.stringify([nameOf(request), Date.now(), request.unused]));
  } catch {
    // Storage is refused in some frames; the button still stays shut until the page changes.
  }
}

// The page may be drawn anew while the wallet is open, so the area is looked up again each time.
const currentArea = () => document.getElementById("wallets");

// What the server does not send stays so while the page is open, however often its parts are drawn anew.
const charged = new Set();

function chargeFee(request) {
  charged.add(nameOf(request));
  request.free = "";
  const area = currentArea();
  if (area) delete area.dataset.free;
  for (const note of area?.querySelectorAll("[data-free-note]") ?? []) note.remove();
}

// Payments of which a wallet signed something else: some wallets do so each time, and pay by a transaction of their own.
const changed = new Set();

function reasonFor(request, error) {
  const reason = reasonOf(error);
  // Only the server knows that the account lacks the amount; no fee is needed, whatever the wallet says.
  if (reason === "funds" && request.free) return error instanceof SigningError ? "short" : "failed";
  if (reason !== "changed" || !request.free) return reason;
  const isAgain = changed.has(nameOf(request));
  changed.add(nameOf(request));
  return isAgain ? "unfree" : reason;
}

async function pay(provider, request) {
  if (paying) return;
  if (wasSent(request)) {
    tell(currentArea(), "sent", true);
    return;
  }
  const attempt = (paying = {});
  tell(currentArea(), "confirm", true);
  const silence = setTimeout(() => {
    paying = null;
    tell(currentArea(), "silent", false);
  }, SILENT_MS);
  try {
    await PAYING[request.family](provider, request);
    remember(request);
    tell(currentArea(), "sent", true);
  } catch (error) {
    const reason = reasonFor(request, error);
    // Then each wallet pays by a transaction of its own.
    if (reason === "unfree") chargeFee(request);
    if (reason === "sent") remember(request);
    // The buyer may be asking again already.
    if (!paying || paying === attempt) tell(currentArea(), reason, reason === "sent");
  } finally {
    clearTimeout(silence);
    if (paying === attempt) paying = null;
  }
}

// What the page itself is too light to hold: the words, and what is to be paid where.
async function fill(area) {
  const answer = await fetch(`${location.pathname}/wallets${location.search}`);
  const html = answer.ok ? await answer.text() : "";
  const next = new DOMParser().parseFromString(html, "text/html").getElementById("wallets");
  if (next?.dataset.family !== area.dataset.family) return false;
  Object.assign(area.dataset, next.dataset);
  area.replaceChildren(...next.childNodes);
  return true;
}

const filled = new WeakMap();

function isFilled(area) {
  if (!filled.has(area)) filled.set(area, fill(area).catch(() => false));
  return filled.get(area);
}

// A wallet behind a relay was asked before this page was loaded again, as phones do while an app is open.
function goOn(wallets, request) {
  const begun = wallets.find(({ provider, isRelayed }) => isRelayed && provider.isBegun(request));
  if (begun) pay(begun.provider, request);
}

// `wallets` grows while this waits.
export async function offerWallets(wallets) {
  const area = currentArea();
  const isReady = await isFilled(area);
  const usable = [...wallets.values()].filter(({ provider }) => fits(provider, area.dataset));
  if (!isReady || !usable.length) {
    area.hidden = true;
    return;
  }
  const request = { ...area.dataset };
  showButtons(area, usable, (provider) => pay(provider, request));
  const notes = [...area.querySelectorAll("[data-wallet-buttons] [data-free-note]")];
  notes.forEach((note, place) => paysFreely(usable[place].provider, request) || note.remove());
  if (charged.has(nameOf(request))) chargeFee(request);
  area.style.minHeight = "";
  if (paying) tell(area, "confirm", true);
  else if (wasSent(area.dataset)) tell(area, "sent", true);
  else goOn(usable, request);
  for (const { provider, isRelayed } of usable) if (isRelayed) provider.draw();
}
