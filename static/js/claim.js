// The claim page's buttons that fill in the address of a wallet in the browser. The page works without any of this.
import { findWallets } from "./discovery.js";

const area = document.getElementById("wallets");
const field = document.getElementById("address");
const choice = document.getElementById("choice");

// Where the money goes: `family`, `chainId` and `sayChain` of the chosen network; no family if no wallet can be asked.
const network = () => (choice?.selectedOptions[0] ?? area).dataset;

async function fill(signing, provider) {
  const { family, chainId } = network();
  const before = field.value;
  const ask = () => signing.ACCOUNTS[family](provider, { chainId, manifest: area.dataset.manifest });
  const account = await signing.askWallet(area, ask, network);
  if (!account) return;
  // What was typed meanwhile stays.
  if (field.value !== before) return offer();
  field.value = account;
  field.removeAttribute("aria-invalid");
  signing.tell(area, "sent", false);
}

// Called for each wallet that is found, and when another network is chosen.
async function offer() {
  const asked = network();
  const found = asked.family && findWallets(asked.family, offer);
  const signing = found?.size && (await import("./signing.js"));
  if (network() !== asked) return;
  const wallets = signing ? [...found.values()].filter(({ provider }) => signing.connects(provider, asked)) : [];
  area.hidden = !wallets.length;
  if (area.hidden) return;
  area.dataset.sayChain = asked.sayChain;
  area.querySelector("[data-wallet-message]").textContent = "";
  signing.showButtons(area, wallets, (provider) => fill(signing, provider), asked);
  // Sending the form stays the one thing that stands out.
  for (const button of area.querySelectorAll("button")) button.classList.remove("button--primary");
}

choice?.addEventListener("change", offer);
offer();
