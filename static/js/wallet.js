// The buttons that pay from a wallet in the browser, whatever its family. Loaded once there is one.
import { PAYING, SILENT_MS, SigningError, fits, paysFreely, reasonOf, showButtons, tell } from "./signing.js";

// How long a payment sent from this browser keeps the buttons shut if the network does not show it. Until an hour is over the buyer
// is told to check the wallet first: with a low fee it may still wait for a block.
const SENT_MS = 5 * 60 * 1000;
const DOUBTFUL_MS = 60 * 60 * 1000;
// On a bad connection its words are asked for again, ever later.
const AGAIN_MS = 2000;
const LATEST_AGAIN_MS = 30 * 1000;

let paying = null;

// The last one, remembered across reloads and tabs, so that an impatient buyer does not pay twice.
const MEMORY = "florin:sent";
const nameOf = ({ chainId, to, units }) => `${chainId}:${to}:${units}`;
// Networks with addresses of a payment's own share one: choosing another of them, or another token, makes no other payment.
const orderOf = ({ to, units }) => `${to}:${units}`;

// Milliseconds since a payment was sent; endless if it was not, or was not used.
function sentSince(request) {
  try {
    const [order, sentAt, before] = JSON.parse(localStorage.getItem(MEMORY));
    // The page names the last signature that was not used: this one, unless it was named already when this one was sent.
    const isUnused = request.unused && request.unused !== before;
    return order === orderOf(request) && !isUnused ? Math.abs(Date.now() - sentAt) : Infinity;
  } catch {
    return Infinity;
  }
}

const wasSent = (request) => sentSince(request) < SENT_MS;

function remember(request, age = 0) {
  try {
    localStorage.setItem(MEMORY, JSON.stringify([orderOf(request), Date.now() - age, request.unused]));
  } catch {
    // Storage is refused in some frames; the button still stays shut until the page changes.
  }
}

function forget(request) {
  if (wasSent(request)) return;
  try {
    localStorage.removeItem(MEMORY);
  } catch {
    // Nothing was remembered.
  }
}

// The page may be drawn anew while the wallet is open, so the area is looked up again each time.
const currentArea = () => document.getElementById("wallets");

let reopening = null;

// The buttons open again by time: a payment that was lost draws no page anew.
function tellSent(request) {
  tell(currentArea(), "sent", true);
  clearTimeout(reopening);
  const since = wasSent(request) ? sentSince(request) : 0;
  reopening = setTimeout(() => {
    const area = currentArea();
    const isSame = area && orderOf(area.dataset) === orderOf(request);
    if (isSame && !paying && !wasSent(request)) tell(area, "unsure", false);
  }, SENT_MS - since + 1000);
}

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

const ASKED = ["chainId", "token", "to", "units"];

// To connect takes as long as the buyer likes. By then it may be paid, over, of another network, or asked for once more.
async function expectDue(request, attempt) {
  if (wasSent(request)) throw new SigningError("sent");
  const area = currentArea();
  const isDue = area && (await isFilled(area)) && ASKED.every((name) => area.dataset[name] === request[name]);
  if (!isDue || (paying && paying !== attempt)) throw new SigningError("unprepared");
}

// As after the minutes in which one that was sent shuts the buttons.
const noteUnsure = (request) => remember(request, SENT_MS);

// Also for who loads the page again while the server's answer is awaited: then it may have been sent. Returns whether nothing was
// in doubt before.
function noteSigned(request) {
  if (wasSent(request)) throw new SigningError("sent");
  const isFirst = sentSince(request) === Infinity;
  noteUnsure(request);
  return isFirst;
}

async function pay(provider, request) {
  if (paying) return;
  if (wasSent(request)) return tellSent(request);
  const attempt = (paying = {});
  tell(currentArea(), "confirm", true);
  const silence = setTimeout(() => {
    paying = null;
    tell(currentArea(), "silent", false);
  }, SILENT_MS);
  try {
    const onSigned = () => (attempt.isFirst = noteSigned(request));
    await PAYING[request.family](provider, { ...request, expectDue: () => expectDue(request, attempt), onSigned });
    remember(request);
    tellSent(request);
  } catch (error) {
    const told = reasonFor(request, error);
    // Another answer of the wallet was sent meanwhile.
    const reason = told === "unsure" && wasSent(request) ? "sent" : told;
    // Then each wallet pays by a transaction of its own.
    if (reason === "unfree") chargeFee(request);
    if (reason === "unsure") noteUnsure(request);
    else if (attempt.isFirst && reason !== "sent") forget(request);
    if (reason === "sent") {
      remember(request);
      tellSent(request);
    } else if (!paying || paying === attempt) {
      // The buyer may be asking again already.
      tell(currentArea(), reason, false);
    }
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

let again = null;
let pause = AGAIN_MS;

function fillAgain(area, wallets) {
  filled.delete(area);
  clearTimeout(again);
  again = setTimeout(() => area.isConnected && offerWallets(wallets), pause);
  pause = Math.min(2 * pause, LATEST_AGAIN_MS);
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
    if (!isReady) fillAgain(area, wallets);
    return;
  }
  pause = AGAIN_MS;
  const request = { ...area.dataset };
  showButtons(area, usable, (provider) => pay(provider, request));
  const notes = [...area.querySelectorAll("[data-wallet-buttons] [data-free-note]")];
  notes.forEach((note, place) => paysFreely(usable[place].provider, request) || note.remove());
  if (charged.has(nameOf(request))) chargeFee(request);
  area.style.minHeight = "";
  if (paying) tell(area, "confirm", true);
  else if (wasSent(request)) tellSent(request);
  else {
    if (sentSince(request) < DOUBTFUL_MS) tell(area, "unsure", false);
    goOn(usable, request);
  }
  for (const { provider, isRelayed } of usable) if (isRelayed) provider.draw();
}
