// Sends the calls of a dashboard's page from a wallet in the browser, which pays their gas. A call with an `id` is sent once
// from this browser; a page with a form is told the hash.
import { findWallets } from "./discovery.js";
import { SILENT_MS, reasonOf, sendCalls, showButtons, tell } from "./signing.js";

const area = document.getElementById("wallets");
const form = document.getElementById("sent");
const MEMORY = "florin:calls";
const MOST_REMEMBERED = 2000;

function sentIds() {
  try {
    return JSON.parse(localStorage.getItem(MEMORY)) ?? [];
  } catch {
    return [];
  }
}

function remember(id) {
  if (!id) return;
  try {
    localStorage.setItem(MEMORY, JSON.stringify([...sentIds(), id].slice(-MOST_REMEMBERED)));
  } catch {
    // Storage is refused in some windows; the buttons stay shut until the page is loaded again.
  }
}

// Read again each time: another tab may have sent some meanwhile.
function unsent() {
  const sent = sentIds();
  return JSON.parse(document.getElementById("calls").textContent).filter(({ id }) => !sent.includes(id));
}

let isAsking = false;

// A second request might pay twice: the buttons stay shut until the wallet answers the first, and are drawn so for a wallet that is
// found late.
async function send(provider) {
  const left = unsent();
  if (isAsking) return;
  if (!left.length) return tell(area, "sent", true);
  isAsking = true;
  tell(area, "confirm", true);
  const silence = setTimeout(() => tell(area, "busy", true), SILENT_MS);
  try {
    const calls = left.map(({ id, ...call }) => call);
    const [hash] = await sendCalls(provider, area.dataset, calls, (place) => remember(left[place].id));
    tell(area, "sent", true);
    if (!form) return;
    form.elements.tx_hash.value = hash;
    form.submit();
  } catch (error) {
    tell(area, reasonOf(error), false);
  } finally {
    clearTimeout(silence);
    isAsking = false;
  }
}

// Called for each wallet that is found, for some before `findWallets` has come back.
function offer() {
  const wallets = [...findWallets("evm", offer).values()];
  showButtons(area, wallets, send);
  document.querySelector("[data-by-hand]")?.toggleAttribute("open", !wallets.length);
  if (isAsking) tell(area, "confirm", true);
  else if (!unsent().length) tell(area, "sent", true);
}

offer();
