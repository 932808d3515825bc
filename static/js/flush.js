// Settling from a wallet in the browser (EIP-1193): the call is ready, the wallet signs and pays for it.
import { findWallets } from "./discovery.js";

// EIP-1193 and EIP-1474.
const USER_REJECTED = 4001;
const REQUEST_PENDING = -32002;
// EIP-3085.
const UNKNOWN_CHAIN = 4902;

const area = document.getElementById("flush");
const message = area.querySelector("[data-flush-message]");
const hashForm = document.getElementById("flush-hash");

class FlushError extends Error {}

function reasonOf(error) {
  if (error instanceof FlushError) return error.message;
  if (error?.code === USER_REJECTED) return "rejected";
  if (error?.code === REQUEST_PENDING) return "busy";
  if (error?.code === UNKNOWN_CHAIN) return "chain";
  return /insufficient|exceeds balance/i.test(error?.message ?? String(error)) ? "funds" : "failed";
}

function tell(name, isDisabled) {
  message.textContent = area.getAttribute(`data-say-${name}`);
  message.classList.toggle("is-problem", !["confirm", "sent"].includes(name));
  for (const button of area.querySelectorAll("button")) button.disabled = isDisabled;
}

async function isOn(provider, chainId) {
  return BigInt(await provider.request({ method: "eth_chainId" })) === BigInt(chainId);
}

async function switchTo(provider, chainId) {
  if (await isOn(provider, chainId)) return;
  await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
  // Some wallets say yes and stay where they are: there the contract may be somebody else's.
  if (!(await isOn(provider, chainId))) throw new FlushError("chain");
}

async function send(provider) {
  const { chainId, to, data, gas } = area.dataset;
  const [from] = await provider.request({ method: "eth_requestAccounts" });
  if (!from) throw new FlushError("account");
  await switchTo(provider, chainId);
  const call = { from, to, data, gas, value: "0x0", chainId };
  return provider.request({ method: "eth_sendTransaction", params: [call] });
}

async function flush(provider) {
  tell("confirm", true);
  try {
    const hash = await send(provider);
    tell("sent", true);
    hashForm.elements.tx_hash.value = hash;
    hashForm.submit();
  } catch (error) {
    tell(reasonOf(error), false);
  }
}

function buttonFor({ name, provider }, isFirst) {
  const button = area.querySelector("template").content.firstElementChild.cloneNode(true);
  if (name) button.querySelector("[data-wallet-name]").textContent = name;
  button.classList.toggle("button--primary", isFirst);
  button.addEventListener("click", () => flush(provider));
  return button;
}

// Called for each wallet that is found, for some before `findWallets` has come back.
function offer() {
  const wallets = [...findWallets("evm", offer).values()];
  const buttons = wallets.map((wallet, index) => buttonFor(wallet, !index));
  area.querySelector("[data-flush-buttons]").replaceChildren(...buttons);
  area.hidden = !buttons.length;
  document.querySelector("[data-flush-by-hand]").open = !buttons.length;
}

offer();
