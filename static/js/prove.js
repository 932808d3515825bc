// The claim page's buttons that sign the message which proves the address that paid. The page works without any of this.
import { findWallets } from "./discovery.js";

const area = document.getElementById("wallets");
const field = document.getElementById("signature");
const message = document.getElementById("message");
const { family, chainId, account } = area.dataset;

async function sign(signing, provider) {
  const ask = () => signing.MESSAGES[family](provider, { chainId, account }, message.textContent);
  const signature = await signing.askWallet(area, ask);
  if (!signature) return;
  field.value = signature;
  field.removeAttribute("aria-invalid");
  signing.tell(area, "sent", false);
}

// Called for each wallet that is found.
async function offer() {
  const found = findWallets(family, offer);
  const signing = found.size && (await import("./signing.js"));
  const wallets = signing ? [...found.values()].filter(({ provider }) => signing.signsFor(provider, area.dataset)) : [];
  area.hidden = !wallets.length;
  if (area.hidden) return;
  signing.showButtons(area, wallets, (provider) => sign(signing, provider));
  // Sending the form stays the one thing that stands out.
  for (const button of area.querySelectorAll("button")) button.classList.remove("button--primary");
}

if (family) offer();
