// The buttons that pay from a wallet in the browser, whatever its family. Loaded once there is one.
import { PaymentError } from "./paying.js";

const FAMILIES = {
  evm: () => import("./wallet-evm.js"),
  solana: () => import("./wallet-solana.js"),
  tron: () => import("./wallet-tron.js"),
};
// How long a payment sent from this browser keeps the buttons shut if the network does not show it.
const SENT_MS = 5 * 60 * 1000;
// EIP-1193 and EIP-1474 error codes, which other families' wallets use too, and the Wallet Standard's own.
const USER_REJECTED = [4001, 4001000];
const REQUEST_PENDING = -32002;

let isPaying = false;

// Some wallets throw plain text.
function reasonOf(error) {
  if (error instanceof PaymentError) return error.reason;
  const words = error?.message ?? String(error);
  if (USER_REJECTED.includes(error?.code) || /\bby (the )?user|user (rejected|denied)/i.test(words)) {
    return "rejected";
  }
  if (error?.code === REQUEST_PENDING) return "busy";
  return /insufficient|exceeds balance/i.test(words) ? "funds" : "failed";
}

// The last one, remembered across reloads and tabs, so that an impatient buyer does not pay twice.
const MEMORY = "florin:sent";
const nameOf = ({ chainId, to, units }) => `${chainId}:${to}:${units}`;

function wasSent(request) {
  try {
    const [name, sentAt] = JSON.parse(localStorage.getItem(MEMORY));
    return name === nameOf(request) && Date.now() - sentAt < SENT_MS;
  } catch {
    return false;
  }
}

function remember(request) {
  try {
    localStorage.setItem(MEMORY, JSON.stringify([nameOf(request), Date.now()]));
  } catch {
    // Storage is refused in some frames; the button still stays shut until the page changes.
  }
}

const currentArea = () => document.getElementById("wallets");

// The page may be drawn anew while the wallet is open, so the area is looked up again each time.
function tell(name, isDisabled) {
  const area = currentArea();
  const message = area?.querySelector("[data-wallet-message]");
  if (!message) return;
  message.textContent = area.getAttribute(`data-say-${name}`);
  message.classList.toggle("is-problem", !["confirm", "sent"].includes(name));
  for (const button of area.querySelectorAll("button")) button.disabled = isDisabled;
}

async function pay(send, provider, request) {
  if (isPaying) return;
  if (wasSent(request)) {
    tell("sent", true);
    return;
  }
  isPaying = true;
  tell("confirm", true);
  try {
    await send(provider, request);
    remember(request);
    tell("sent", true);
  } catch (error) {
    tell(reasonOf(error), false);
  } finally {
    isPaying = false;
  }
}

function buttonFor(area, { name, provider }, { isFirst, send }) {
  const button = area.querySelector("template").content.firstElementChild.cloneNode(true);
  if (name) button.querySelector("[data-wallet-name]").textContent = name;
  button.classList.toggle("button--primary", isFirst);
  const request = { ...area.dataset };
  button.addEventListener("click", () => pay(send, provider, request));
  return button;
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

// `wallets` grows while this waits.
export async function offerWallets(wallets) {
  const area = currentArea();
  const [{ fits, send }, isReady] = await Promise.all([FAMILIES[area.dataset.family](), isFilled(area)]);
  const usable = [...wallets.values()].filter(({ provider }) => fits(provider, area.dataset));
  if (!isReady || !usable.length) return;
  const buttons = usable.map((wallet, index) => buttonFor(area, wallet, { isFirst: !index, send }));
  area.querySelector("[data-wallet-buttons]").replaceChildren(...buttons);
  area.hidden = false;
  if (isPaying) tell("confirm", true);
  else if (wasSent(area.dataset)) tell("sent", true);
}
