// The claim page's buttons that fill in the address of a wallet in the browser. The page works without any of this.
import { findWallets } from "./discovery.js";

const area = document.getElementById("wallets");
const field = document.getElementById("address");
const choice = document.getElementById("choice");

// Where the money goes: `family`, `chainId` and `sayChain` of the chosen network; no family if no wallet can be asked.
const network = () => (choice?.selectedOptions[0] ?? area).dataset;

async function fill(signing, provider) {
  const asked = network();
  signing.tell(area, "confirm", true);
  try {
    const account = await signing.ACCOUNTS[asked.family](provider, {
      chainId: asked.chainId,
      manifest: area.dataset.manifest,
    });
    // Another network was chosen meanwhile.
    if (network() !== asked) return;
    field.value = account;
    field.removeAttribute("aria-invalid");
    signing.tell(area, "sent", false);
  } catch (error) {
    if (network() === asked) signing.tell(area, signing.reasonOf(error), false);
  }
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
  signing.showButtons(area, wallets, (provider) => fill(signing, provider));
  // Sending the form stays the one thing that stands out.
  for (const button of area.querySelectorAll("button")) button.classList.remove("button--primary");
}

choice?.addEventListener("change", offer);
offer();
