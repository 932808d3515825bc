// Keeps the overview's latest payments as they are now: the streams of their checkout pages say when to look again.
import { followStream } from "./status.js";

// A checkout made since has no stream here; an answer without news is empty.
const LOOK_SECONDS = 15;
// On a bad connection an answer may never come, and the next look waits for it.
const ANSWER_MS = 10_000;

let streams = [];
let isLooking = false;
let isAskedAgain = false;

const section = () => document.getElementById("latest");

function close() {
  for (const stream of streams) stream.close();
  streams = [];
}

function follow() {
  close();
  streams = section()
    .dataset.streams.split(" ")
    .filter(Boolean)
    .map((address) => followStream({ address: () => address, onNews: look, onLost: () => {} }));
  for (const stream of streams) stream.open();
}

async function look() {
  isAskedAgain = isLooking;
  if (isLooking) return;
  isLooking = true;
  try {
    await replace();
  } catch {
    // The next news, or the next time somebody looks at the page, asks again.
  }
  isLooking = false;
  if (isAskedAgain) look();
}

// Throws where there is no answer.
async function replace() {
  const answer = await fetch(section().dataset.address, {
    cache: "no-store",
    signal: AbortSignal.timeout(ANSWER_MS),
    // A page left open must not keep its login from ending.
    headers: { "Florin-Unattended": "1" },
  });
  if (answer.status !== 200) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("latest");
  // Another page: whoever looked is logged out.
  if (!fresh) return;
  const focused = section().contains(document.activeElement) && document.activeElement.getAttribute("href");
  section().replaceWith(fresh);
  if (focused) fresh.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus();
  document.getElementById("announcer").textContent = fresh.dataset.updated;
  follow();
}

setInterval(() => {
  if (!document.hidden) look();
}, LOOK_SECONDS * 1000);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) look();
});
// An open stream would keep the page from being kept for "back".
window.addEventListener("pagehide", close);
window.addEventListener("pageshow", ({ persisted }) => {
  if (!persisted) return;
  follow();
  look();
});
follow();
