// Counts the half minute down in which a decision can be undone, and then looks what came of it.
const LOOK_AFTER_MS = 2500;

const bar = document.querySelector("[data-due-in]");
const words = bar.querySelector("[data-countdown]");
// The page's own clock: whether the reader's is right does not matter. It stands still while a device sleeps, and the reader's goes on.
const ahead = Date.now() - performance.now();
const now = () => Math.max(performance.now(), Date.now() - ahead);
let next = null;
const dueAt = now() + 1000 * Number(bar.dataset.dueIn);

function tick() {
  const left = Math.ceil((dueAt - now()) / 1000);
  next = null;
  if (left <= 0) {
    if (words) words.textContent = bar.dataset.now;
    setTimeout(() => location.replace(bar.dataset.then), LOOK_AFTER_MS);
    return;
  }
  words.textContent = left === 1 ? bar.dataset.one : bar.dataset.many.replace("{count}", left);
  next = setTimeout(tick, dueAt - now() - 1000 * (left - 1));
}

// A timer stands still as well.
document.addEventListener("visibilitychange", () => {
  if (next === null) return;
  clearTimeout(next);
  tick();
});
tick();
