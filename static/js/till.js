// The till of a paired device: keypad, codes, and green with a sound once a sale is paid. Pages are swapped inside this document,
// because a browser plays sounds only where somebody has tapped.
import { watchStatus } from "./status.js";

const UNPAIRED = "unpaired";
const announcer = document.getElementById("announcer");
const frame = () => document.getElementById("till");
const sale = () => document.getElementById("sale");
const hasSale = () => Boolean(sale());

function announce(words) {
  announcer.textContent = "";
  setTimeout(() => (announcer.textContent = words), 50);
}

// Made at a tap, or the browser keeps it silent.
let sound = null;

function prepareSound() {
  const Context = window.AudioContext ?? window.webkitAudioContext;
  if (!Context) return;
  sound ??= new Context();
  sound.resume().catch(() => {});
}

// Two rising tones, made here: no file is loaded.
function chime() {
  navigator.vibrate?.([120, 60, 120]);
  if (sound?.state !== "running") return;
  const begin = sound.currentTime;
  for (const [number, pitch] of [880, 1320].entries()) {
    const tone = sound.createOscillator();
    const volume = sound.createGain();
    const at = begin + number * 0.16;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.001, at);
    volume.gain.exponentialRampToValueAtTime(0.4, at + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.001, at + 0.3);
    tone.connect(volume).connect(sound.destination);
    tone.start(at);
    tone.stop(at + 0.32);
  }
}

// The screen stays lit while a customer looks for a wallet. The browser ends it when the page is hidden.
let wake = null;

async function keepLit() {
  if (!isOpenSale()) {
    wake?.release().catch(() => {});
    wake = null;
    return;
  }
  if (wake && !wake.released) return;
  wake = (await navigator.wakeLock?.request("screen").catch(() => null)) ?? null;
}

const isDigit = (point) => /\p{Nd}/u.test(String.fromCodePoint(point));

// The value of a decimal digit of any script: Unicode keeps each script's ten together, in order (Core Specification, 4.6).
function valueOf(digit) {
  const point = digit.codePointAt(0);
  let first = point;
  while (isDigit(first - 1)) first -= 1;
  return (point - first) % 10;
}

// What was typed, in ASCII digits: keyboards of many scripts have digits of their own.
const digitsOf = (text, most) =>
  [...text.matchAll(/\p{Nd}/gu)]
    .map(([digit]) => valueOf(digit))
    .join("")
    .replace(/^0+/, "")
    .slice(0, most);

// Digits fill in from the right, as on a cash register: 1250 is 12.50, or 1250 of a currency without cents.
function written(digits, decimals) {
  if (!decimals) return digits || "0";
  const padded = digits.padStart(decimals + 1, "0");
  return `${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`;
}

function enableKeypad() {
  const form = document.querySelector("form[data-keypad]");
  if (!form) return;
  const field = form.elements.amount;
  const keys = form.querySelector("[data-keys]");
  const total = form.querySelector("[data-total]");
  const charge = form.querySelector("[data-charge]");
  const decimals = Number(form.dataset.decimals);
  const most = Number(form.dataset.mostDigits);
  const currency = form.elements.currency.value;
  let digits = digitsOf(field.value, most);

  function show() {
    field.value = digits ? written(digits, decimals) : "";
    const units = Number(digits || "0");
    const rate = Number(form.elements.tip?.value ?? 0);
    // Half a unit up, as the server rounds.
    const sum = units + Math.floor((units * rate + 50) / 100);
    total.textContent = units ? `${written(String(sum), decimals)} ${currency}` : "";
    charge.disabled = !units;
  }

  function type(key) {
    digits = key === "back" ? digits.slice(0, -1) : digitsOf(digits + key, most);
    show();
  }

  // The phone's own keyboard stays away. A real one still types.
  field.setAttribute("inputmode", "none");
  keys.hidden = false;
  keys.addEventListener("click", ({ target }) => {
    const key = target.closest("[data-key]")?.dataset.key;
    if (key) type(key);
  });
  field.addEventListener("input", () => {
    digits = digitsOf(field.value, most);
    show();
  });
  form.addEventListener("change", show);
  show();
  field.focus({ preventScroll: true });
}

const SLEPT_MS = 5000;
let counting = null;

// Milliseconds for which the device slept since the sale was drawn, as on the checkout page (checkout.js): `performance.now()` stands
// still meanwhile. If its clock was only put right, the sale that is drawn anew for it says how much time is left.
let drawnAt = 0;
const slept = () => Date.now() - performance.now() - drawnAt;

function startClock() {
  clearInterval(counting);
  drawnAt += slept();
  const clock = sale()?.querySelector("[data-clock]");
  if (!clock) return;
  const endsAt = performance.now() + 1000 * sale().dataset.secondsLeft;
  const two = (number) => String(number).padStart(2, "0");
  counting = setInterval(() => {
    const left = Math.max(0, Math.ceil((endsAt - performance.now() - Math.max(0, slept())) / 1000));
    clock.textContent = `${two(Math.floor(left / 60))}:${two(left % 60)}`;
    if (left) return;
    clearInterval(counting);
    status?.checkNow();
  }, 250);
}

function drawSale(html) {
  const next = new DOMParser().parseFromString(html, "text/html").getElementById("sale");
  if (!next || !hasSale()) return;
  const before = sale();
  const wasPaid = Boolean(before.dataset.paid);
  const words = before.querySelector("[data-tell]")?.textContent;
  for (const { className } of before.querySelectorAll("details[open]")) {
    next.getElementsByClassName(className)[0]?.setAttribute("open", "");
  }
  const isFocused = before.contains(document.activeElement);
  before.replaceWith(document.adoptNode(next));
  const told = sale().querySelector("[data-tell]")?.textContent;
  if (told && told !== words) announce(told);
  if (sale().dataset.paid && !wasPaid) chime();
  if (isFocused || sale().dataset.paid) sale().querySelector("[data-next], a, button")?.focus({ preventScroll: true });
  keepLit();
  startClock();
}

let status = null;
let watched = "";

function follow() {
  // One watcher for the document: it asks for whatever sale is shown.
  const address = sale()?.dataset.statusUrl ?? "";
  if (address && watched === address) return status.checkNow();
  status?.stop();
  status = null;
  watched = address;
  if (!address) return;
  status = watchStatus({
    address: () => address + location.search,
    streamAddress: () => sale()?.dataset.streamUrl ?? "",
    version: () => (sale()?.dataset.version ?? "") + (Math.abs(slept()) > SLEPT_MS ? "?" : ""),
    isSettled: () => !hasSale() || /completed|expired/.test(sale().dataset.stage),
    onChange: ({ status: told, panel }) => {
      if (told === UNPAIRED) location.reload();
      else if (sale()?.dataset.statusUrl === address) drawSale(panel);
    },
  });
  status.start();
}

// A device with a PIN shows nothing more once it was idle for as long as the server waits. An open sale stays: a customer looks at it.
let idleFrom = 0;
let idling = null;

const isOpenSale = () => hasSale() && !/completed|expired/.test(sale().dataset.stage);

function watchIdle() {
  idleFrom = Date.now();
  hideIfIdle();
}

// Timers and `performance.now()` stand still while a phone sleeps: it looks again when the page is seen, by the clock on the wall. Nobody
// touched the device, so the look does not keep it unlocked.
function hideIfIdle() {
  clearTimeout(idling);
  const seconds = Number(frame().dataset.idleSeconds);
  if (!seconds) return;
  const left = 1000 * seconds - Math.abs(Date.now() - idleFrom);
  // A little later than the server, which then asks for the PIN.
  if (left > 0) idling = setTimeout(hideIfIdle, left + 1000);
  else if (isOpenSale()) idling = setTimeout(hideIfIdle, 10_000);
  else swap(frame().dataset.scope, { headers: { "Till-Idle": "1" }, keepsHistory: true });
}

function enliven() {
  watchIdle();
  enableKeypad();
  startClock();
  keepLit();
  follow();
  enablePairing();
  // A page that was swapped in is not focused by its `autofocus`.
  document.querySelector("form[data-pin] [name=pin]")?.focus({ preventScroll: true });
}

// The code of a scanned address is behind its #, which browsers send to nobody.
function enablePairing() {
  const field = document.querySelector("form[data-pairing] [name=code]");
  if (!field || !location.hash) return;
  field.value = location.hash.replace(/[^0-9a-z-]/gi, "").slice(0, 20);
  history.replaceState(null, "", location.pathname);
}

const offline = (isOffline) => {
  const words = document.querySelector("[data-offline]");
  if (words) words.hidden = !isOffline;
};

// On a bad connection an answer may never come.
const ANSWER_MS = 20_000;
// A device that wakes up often misses one answer.
const MISSED = 2;
let asking = null;

// Shows the answer in place of this page. Nothing is kept to be sent later: only the server can fix a price.
async function swap(address, options = {}) {
  const mine = (asking = {});
  const buttons = [...document.querySelectorAll("form[data-swap] [type=submit]")].filter((button) => !button.disabled);
  for (const button of buttons) button.disabled = true;
  try {
    const answer = await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(ANSWER_MS), ...options });
    const html = await answer.text();
    if (mine !== asking) return;
    const next = new DOMParser().parseFromString(html, "text/html");
    const replacing = next.getElementById("till");
    // Some other page, such as one that says that too much was asked.
    if (!replacing) return location.reload();
    offline(false);
    frame().replaceWith(document.adoptNode(replacing));
    document.title = next.title;
    // A form that has to be corrected is answered at its own address, which is no page.
    const shownAt = answer.ok ? answer.url : location.href;
    if (options.keepsHistory || !answer.ok) history.replaceState(null, "", shownAt);
    else history.pushState(null, "", shownAt);
    scrollTo(0, 0);
    document.getElementById("main").focus({ preventScroll: true });
    enliven();
  } catch {
    if (mine === asking) offline(true);
  } finally {
    // Also if another answer was shown, or is awaited, since: that one gives back only what it took.
    for (const button of buttons) button.disabled = false;
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-swap]");
  if (!form) return;
  event.preventDefault();
  prepareSound();
  swap(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), keepsHistory: hasSale() });
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-swap]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  prepareSound();
  swap(link.href);
});

window.addEventListener("popstate", () => swap(location.href, { keepsHistory: true }));
window.addEventListener("offline", () => offline(true));
window.addEventListener("online", () => offline(false));
// A network without a way out is no event.
window.addEventListener("florin:asked", ({ detail }) => offline(!navigator.onLine || detail >= MISSED));
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  keepLit();
  hideIfIdle();
});

// The worker that shows notices, too: it makes the till installable, and says so when there is no connection.
if ("serviceWorker" in navigator) {
  const { worker, scope } = frame().dataset;
  navigator.serviceWorker.register(worker, { scope }).catch(() => {});
}

enliven();
offline(!navigator.onLine);
