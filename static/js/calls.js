// Sends the calls of a dashboard's page from a wallet in the browser, which pays their gas, and posts what it answered.
import { findWallets } from "./discovery.js";
import { reasonOf, sendCalls, showButtons, tell } from "./signing.js";

const area = document.getElementById("wallets");
const form = document.getElementById("sent");
const calls = JSON.parse(document.getElementById("calls").textContent);

async function send(provider) {
  tell(area, "confirm", true);
  try {
    const [hash] = await sendCalls(provider, area.dataset, calls);
    tell(area, "sent", true);
    form.elements.tx_hash.value = hash;
    form.submit();
  } catch (error) {
    tell(area, reasonOf(error), false);
  }
}

// Called for each wallet that is found, for some before `findWallets` has come back.
function offer() {
  const wallets = [...findWallets("evm", offer).values()];
  showButtons(area, wallets, send);
  document.querySelector("[data-by-hand]").open = !wallets.length;
}

offer();
