// The checkout page. It works without any of this; the script spares the buyer reloading and typing.
import { findWallets } from "./discovery.js";
import { enableCopying, showLocalTimes } from "./shared.js";
import { watchStatus } from "./status.js";

const announcer = document.getElementById("announcer");

// Emptied first, or saying the same words twice would be no change and so not be read out.
function announce(words) {
  announcer.textContent = "";
  setTimeout(() => (announcer.textContent = words), 50);
}

const panel = () => document.getElementById("panel");

// Focus stays on the control that has it, or goes to the new heading if that control is gone.
function focusAgain(focused) {
  if (!focused) return;
  const same = focused.id
    ? document.getElementById(focused.id)
    : panel().querySelector(`[name="${focused.name}"][value="${focused.value}"]`);
  (same ?? panel().querySelector("h1"))?.focus();
}

function announcementIn(root) {
  const parts = root.querySelectorAll("h1[data-announce], [data-tell]");
  return Array.from(parts, (part) => part.dataset.announce ?? part.textContent).join(" ");
}

// A wallet's button is drawn again a moment later, in the room that it had, so that nothing moves.
function keepRoom() {
  const before = document.getElementById("wallets");
  const height = before?.offsetHeight;
  return () => {
    const area = document.getElementById("wallets");
    if (!height || area?.dataset.family !== before.dataset.family) return;
    area.style.minHeight = `${height}px`;
    area.hidden = false;
  };
}

function show(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const next = page.getElementById("panel");
  if (!next) return;
  const focused = panel().contains(document.activeElement) && document.activeElement;
  const spoken = announcementIn(panel());
  // What the buyer opened stays open, and what is being typed stays whole.
  for (const details of panel().querySelectorAll("details[open]")) {
    next.querySelector(`[class="${details.className}"]`)?.setAttribute("open", "");
  }
  for (const typed of panel().querySelectorAll("#tx, #mail-to")) next.querySelector(`#${typed.id}`)?.replaceWith(typed);
  const giveRoom = keepRoom();
  panel().replaceWith(document.adoptNode(next));
  giveRoom();
  // A choice is answered with a whole page: whether there is a network fee is said beside the panel.
  const facts = page.querySelector(".facts");
  if (facts) document.querySelector(".facts")?.replaceWith(facts);
  const payBy = panel().querySelector("template[data-pay-by]");
  if (payBy) document.getElementById("pay-by")?.replaceChildren(payBy.content.cloneNode(true));
  document.title = panel().dataset.title;
  focusAgain(focused);
  const words = announcementIn(panel());
  if (words && words !== spoken) announce(words);
  enliven();
}

// Only phones have wallet apps: elsewhere the styles hide the ways into them, and buyers are spared the script.
async function guideToApps() {
  const isShown = document.getElementById("apps")?.getClientRects().length;
  if (isShown) (await import("./apps.js")).guide(announce);
}

// Most buyers have no wallet in their browser and are spared the code that talks to one.
async function offerWallets() {
  const family = document.getElementById("wallets")?.dataset.family;
  const wallets = family && findWallets(family, offerWallets);
  if (!wallets?.size) return;
  // Its room comes at once, and its button a moment later.
  document.getElementById("wallets").hidden = false;
  (await import("./wallet.js")).offerWallets(wallets);
}

const SHORT_SECONDS = 300;
const SLEPT_MS = 5000;
let ticking = null;

function clockText(seconds) {
  const hours = Math.floor(seconds / 3600);
  const rest = new Date(1000 * seconds).toISOString().slice(14, 19);
  return hours ? `${hours}:${rest}` : rest;
}

function paint(timer, seconds) {
  timer.querySelector("[data-countdown-text]").textContent = clockText(seconds);
  const gone = 100 - (100 * seconds) / timer.dataset.secondsTotal;
  timer.querySelector(".countdown__left").setAttribute("stroke-dashoffset", gone.toFixed(1));
  timer.classList.toggle("is-short", seconds < SHORT_SECONDS);
}

// Milliseconds for which the phone slept since the page was drawn: `performance.now()` stands still meanwhile. If its clock was
// only put right, the page that is drawn anew for it says how much time is left.
let drawnAt = 0;
const slept = () => Date.now() - performance.now() - drawnAt;

// It counts what the server said is left, so a wrong clock on the buyer's side does no harm.
function startCountdown() {
  clearInterval(ticking);
  drawnAt += slept();
  const timer = document.getElementById("countdown");
  if (!timer) return;
  const endsAt = performance.now() + 1000 * timer.dataset.secondsLeft;
  let painted = Number(timer.dataset.secondsLeft);

  const tick = () => {
    const left = endsAt - performance.now() - Math.max(0, slept());
    const seconds = Math.max(0, Math.ceil(left / 1000));
    if (seconds === painted) return;
    painted = seconds;
    paint(timer, seconds);
    const words = timer.getAttribute(`data-announce-${seconds}`);
    if (words) announce(words);
    if (seconds > 0) return;
    clearInterval(ticking);
    // No address is shown once the time is over, whatever the network between us is doing.
    for (const part of panel().querySelectorAll("[data-until-expiry]")) part.hidden = true;
    status.checkNow();
  };
  ticking = setInterval(tick, 250);
}

// Few buyers wait for anything else, and the others are spared the script that counts.
async function startWaits() {
  if (panel().querySelector("[data-wait], [data-redirect-seconds]")) (await import("./waits.js")).startWaits();
}

function enliven() {
  showLocalTimes();
  startCountdown();
  startWaits();
  offerWallets();
  guideToApps();
}

const CHOICE_MS = 15000;
let chosen = null;

// Leads back to this page with the choice in its address, and what is to be paid in it. Until then nothing can be paid by what is
// shown, which is another network's.
async function choose(form) {
  const choice = new URLSearchParams(new FormData(form));
  const sheet = panel().querySelector("[data-until-expiry]");
  chosen = choice;
  sheet.inert = true;
  try {
    const answer = await fetch(form.action, { method: "POST", body: choice, signal: AbortSignal.timeout(CHOICE_MS) });
    const html = await answer.text();
    // A later choice may have been answered first.
    if (chosen !== choice) return;
    if (answer.ok) {
      history.replaceState(null, "", answer.url);
      show(html);
      return announce(panel().querySelector("[data-chosen]")?.dataset.chosen ?? "");
    }
    form.submit();
  } catch {
    if (chosen !== choice) return;
    // To send the form would put the browser's error in place of the page. This says whether the connection is gone.
    status.checkNow();
  }
  // Also for who comes back to this page: the choice is what it shows.
  form.reset();
  sheet.inert = false;
}

document.addEventListener("change", ({ target }) => {
  if (target.form?.id === "networks") choose(target.form);
});

const status = watchStatus({
  address: () => panel().dataset.statusUrl + location.search,
  streamAddress: () => panel().dataset.streamUrl,
  version: () => panel().dataset.version + (Math.abs(slept()) > SLEPT_MS ? "?" : ""),
  isSettled: () => /completed|expired/.test(panel().dataset.stage),
  onChange: ({ panel: html }) => show(html),
});

// A form that has to be corrected is answered at its own address, which is no page.
const { address } = announcer.dataset;
if (address) history.replaceState(null, "", address);

enableCopying({ announce });
enliven();
status.start();
// What says that there is no connection is fetched while there is one.
addEventListener("load", async () => (await import("./offline.js")).watchConnection(announce, offerWallets));
