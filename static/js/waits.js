// Waits that few buyers see, so that the others are spared this: for the way back to the shop, and after too many searches.
const RETURNED = "florin:returned:";
let returning = null;
let searching = null;

// Once for each payment: a buyer who opens the page again wants to read it.
function isFirstReturn() {
  try {
    const key = RETURNED + location.pathname;
    if (localStorage.getItem(key)) return false;
    localStorage.setItem(key, "1");
  } catch {
    // Storage is refused in some frames; the server still ends this after minutes.
  }
  return true;
}

function stay() {
  clearInterval(returning);
  document.getElementById("returning").classList.add("is-over");
}

// Replaces this page in the history, so that "back" from the shop does not lead into another redirect.
function startReturn(link) {
  if (returning) return;
  if (!isFirstReturn()) return stay();
  let left = link.dataset.redirectSeconds;
  returning = setInterval(() => {
    left -= 1;
    document.querySelector("#returning b").textContent = left;
    if (left) return;
    clearInterval(returning);
    location.replace(link.href);
  }, 1000);
  document.getElementById("stay").addEventListener("click", () => {
    stay();
    link.focus();
  });
}

// The typed hash stays, and the button comes back by itself.
function countWait(words) {
  clearInterval(searching);
  const button = words.closest("form").querySelector("button");
  const endsAt = performance.now() + 1000 * words.dataset.wait;
  button.disabled = true;
  searching = setInterval(() => {
    const left = Math.ceil((endsAt - performance.now()) / 1000);
    words.querySelector("b").textContent = Math.max(0, left);
    if (left > 0) return;
    clearInterval(searching);
    words.remove();
    button.disabled = false;
  }, 250);
}

// Called for each drawing of a page that has one.
export function startWaits() {
  const link = document.querySelector("[data-redirect-seconds]");
  if (link) startReturn(link);
  const words = document.querySelector("[data-wait]");
  if (words) countWait(words);
}
