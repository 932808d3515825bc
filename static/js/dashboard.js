// What every page of the dashboard does with script: copy buttons, dialogs, menus that close, sharing, forms sent once, `/` to search.
import { enableCopying, showLocalTimes } from "./shared.js";

const announcer = document.getElementById("announcer");

function announce(text) {
  if (announcer) announcer.textContent = text;
}

// <button data-opens="id of a dialog">, and inside of it <button data-closes>.
function enableDialogs() {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens).showModal();
    event.target.closest("[data-closes]")?.closest("dialog").close();
  });
}

// A menu is a <details>; looking elsewhere, or Escape, closes it.
function enableMenus() {
  const close = (except) => {
    for (const menu of document.querySelectorAll("details.switcher[open]"))
      if (!menu.contains(except)) menu.open = false;
  };
  document.addEventListener("click", (event) => close(event.target));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close(null);
  });
}

// A second click would send the form again before the first answer is there. <form data-downloads> is answered by a file, which
// leaves the page as it is.
function sendOnce() {
  document.addEventListener("submit", ({ submitter, target }) => {
    if (!submitter || target.method !== "post" || "downloads" in target.dataset) return;
    // Not before the browser has taken the button's own name and value along.
    setTimeout(() => {
      submitter.disabled = true;
      submitter.dataset.sent = "";
    });
  });
  // A page that is shown again by going back has its buttons.
  addEventListener("pageshow", () => {
    for (const button of document.querySelectorAll("[data-sent]")) button.disabled = false;
  });
}

const SEARCH_KEY = "florin:search-key";

// WCAG 2.1.4: a key without Ctrl or Alt can be switched off. Where nothing can be kept, it stays off.
function isSearchKeyOn() {
  try {
    return localStorage.getItem(SEARCH_KEY) !== "off";
  } catch {
    return false;
  }
}

// <section data-search-key hidden> with a checkbox, on the page of the person's login.
function enableSearchKeySwitch() {
  const section = document.querySelector("[data-search-key]");
  if (!section) return;
  const box = section.querySelector("input");
  box.checked = isSearchKeyOn();
  box.addEventListener("change", () => {
    try {
      localStorage.setItem(SEARCH_KEY, box.checked ? "on" : "off");
    } catch {
      box.checked = false;
    }
  });
  section.hidden = false;
}

// `/` goes to the search box, unless somebody types or a dialog is open.
function enableSearchKey() {
  const box = document.querySelector("[data-search]");
  if (!box) return;
  if (!isSearchKeyOn()) {
    box.removeAttribute("aria-keyshortcuts");
    box.form.querySelector("kbd").hidden = true;
  }
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable], dialog")) return;
    // Asked with each press, so that pages that are open already follow the switch.
    if (!isSearchKeyOn()) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
}

// On the page of results, the arrow keys lead from the box through the rows and back.
function enableResultKeys() {
  const box = document.querySelector("[data-search]");
  if (!box || !document.querySelector("[data-found]")) return;
  const rows = [...document.querySelectorAll("#content tbody tr")];
  const stops = [box, ...rows.map((row) => row.querySelector("a[href]")).filter(Boolean)];
  document.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const place = stops.indexOf(document.activeElement);
    if (!step || place < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    stops[place + step]?.focus();
  });
}

const PRECISIONS = {
  short: { month: "short", hour: "2-digit", minute: "2-digit" },
  seconds: { month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" },
};

// Also in what htmx or a stream puts into the page later.
function keepTimesLocal() {
  const show = () => showLocalTimes(PRECISIONS);
  show();
  new MutationObserver(show).observe(document.body, { childList: true, subtree: true });
}

// <time datetime="2026-11-17T14:05:00+00:00"> below a heading that names its time zone: who points at it reads their own time.
function tellLocalTime() {
  const { lang } = document.documentElement;
  const words = new Intl.DateTimeFormat(lang === "en" ? "en-GB" : lang, {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
  });
  document.addEventListener("pointerover", ({ target }) => {
    const time = target.closest?.("time[datetime*='T']");
    if (time && !time.title) time.title = (announcer?.dataset.yourTime ?? "{time}").replace("{time}", words.format(new Date(time.dateTime)));
  });
}

// <button data-prints hidden>: shown where script can print.
function enablePrinting() {
  for (const button of document.querySelectorAll("[data-prints]")) {
    button.hidden = false;
    button.addEventListener("click", () => print());
  }
}

// <button data-shares="an address" hidden>: shown where the system has a sheet for sharing.
function enableSharing() {
  if (!navigator.share) return;
  for (const button of document.querySelectorAll("[data-shares]")) {
    button.hidden = false;
    // Closing the sheet is refused as an error.
    button.addEventListener("click", () => navigator.share({ url: button.dataset.shares }).catch(() => {}));
  }
}

// A browser that shows notices goes on doing so when its subscription ended, or the server has another key.
async function keepSubscribed() {
  const { renews } = announcer?.dataset ?? {};
  try {
    if (renews && localStorage.getItem("florin:push")) await (await import("./push.js")).renew(renews);
  } catch {
    // Where nothing is kept, or a service does not answer. The next session tries again.
  }
}

enableCopying({ announce });
keepSubscribed();
enableSharing();
enablePrinting();
enableDialogs();
enableMenus();
sendOnce();
enableSearchKey();
enableResultKeys();
enableSearchKeySwitch();
keepTimesLocal();
tellLocalTime();
