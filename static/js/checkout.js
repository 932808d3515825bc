// The checkout page. It works without any of this; the script spares the buyer reloading and typing.
import { enableCopying } from "./copy.js";
import { startCountdown } from "./countdown.js";
import { findWallets } from "./discovery.js";
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

function focusedControl() {
  const control = document.activeElement;
  if (!panel().contains(control)) return null;
  return { id: control.id, name: control.getAttribute("name"), value: control.getAttribute("value") };
}

function announcementIn(root) {
  return root.querySelector("h1[data-announce]")?.dataset.announce;
}

function show(html) {
  const next = new DOMParser().parseFromString(html, "text/html").getElementById("panel");
  if (!next) return;
  const focused = focusedControl();
  const spoken = announcementIn(panel());
  const details = next.querySelector("details");
  if (details) details.open = panel().querySelector("details")?.open ?? false;
  panel().replaceWith(document.adoptNode(next));
  document.title = panel().dataset.title;
  focusAgain(focused);
  const words = announcementIn(panel());
  if (words && words !== spoken) announce(words);
  enliven();
}

let redirectAt = null;

// Replaces this page in the history, so that "back" from the shop does not lead into another redirect.
function startRedirect() {
  const link = panel().querySelector("[data-redirect-seconds]");
  if (!link || redirectAt) return;
  redirectAt = setTimeout(() => location.replace(link.href), 1000 * link.dataset.redirectSeconds);
}

let wallets = [];

// Most buyers have no wallet in their browser and are spared the code that talks to one.
async function offerWallets() {
  if (!wallets.length) return;
  const wallet = await import("./wallet.js");
  wallet.offerWallets(panel(), wallets);
}

function enliven() {
  startCountdown(panel(), { announce, onOver: status.checkNow });
  offerWallets();
  startRedirect();
}

let chosen = null;

// Leads back to this page with the choice in its address, and what is to be paid in it.
async function choose(form) {
  const choice = new URLSearchParams(new FormData(form));
  chosen = choice;
  try {
    const answer = await fetch(form.action, { method: "POST", body: choice });
    if (!answer.ok) throw new Error(answer.statusText);
    const html = await answer.text();
    // A later choice may have been answered first.
    if (chosen !== choice) return;
    history.replaceState(null, "", answer.url);
    show(html);
  } catch {
    form.submit();
  }
}

document.addEventListener("change", ({ target }) => {
  if (target.form?.id === "networks") choose(target.form);
});

const status = watchStatus({
  address: () => panel().dataset.statusUrl + location.search,
  streamAddress: () => panel().dataset.streamUrl,
  version: () => panel().dataset.version,
  isFinal: () => "final" in panel().dataset,
  onChange: ({ panel: html }) => show(html),
});

enableCopying({ announce });
findWallets((found) => {
  wallets = found;
  offerWallets();
});
enliven();
status.start();
