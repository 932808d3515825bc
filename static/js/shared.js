// What pages of buyers and of merchants share: copy buttons, and times where their reader is.
// Copy buttons: <button data-copy="value" data-copied="Copied" data-announce="Address copied">.
const SHOWN_MS = 1800;

// Returns whether it could.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// For browsers and frames that refuse the clipboard API.
function copyBySelection(text) {
  const field = document.createElement("textarea");
  field.value = text;
  field.readOnly = true;
  field.className = "visually-hidden";
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  return isCopied;
}

function confirmOn(button) {
  const label = button.querySelector("[data-copy-text]");
  button.dataset.label ??= label.textContent;
  label.textContent = button.dataset.copied;
  button.classList.add("is-done");
  clearTimeout(button.restoring);
  button.restoring = setTimeout(() => {
    label.textContent = button.dataset.label;
    button.classList.remove("is-done");
  }, SHOWN_MS);
}

export function enableCopying({ announce }) {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const focused = document.activeElement;
    const isCopied = await copy(button.dataset.copy);
    focused?.focus();
    if (!isCopied) return;
    confirmOn(button);
    announce(button.dataset.announce);
  });
}

const LONG = { month: "long", hour: "numeric", minute: "numeric" };
const formats = {};

// In the calendar of what the server wrote: Thai and Persian readers have others.
function formatOf(name, precision = LONG) {
  const { lang } = document.documentElement;
  return (formats[name] ??= new Intl.DateTimeFormat(lang === "en" ? "en-GB" : `${lang}-u-ca-gregory`, {
    year: "numeric",
    day: "numeric",
    timeZoneName: "short",
    ...precision,
  }));
}

// <time datetime="…" data-local>20 November 2026, 05:30 UTC</time>: UTC stays on hover, and for readers who live in it.
// `precisions` are shorter forms, by what `data-local` says.
export function showLocalTimes(precisions = {}) {
  for (const time of document.querySelectorAll("time[data-local]:not([title])")) {
    const when = new Date(time.dateTime);
    if (!when.getTimezoneOffset()) continue;
    time.title = time.textContent.trim();
    time.textContent = formatOf(time.dataset.local, precisions[time.dataset.local]).format(when);
  }
}
