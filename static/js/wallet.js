// Paying from a wallet in the browser over EIP-1193; the ERC-20 transfer is encoded by hand. Loaded once there is one.
// How long a payment sent from this browser keeps the buttons shut if the network does not show it.
const SENT_MS = 5 * 60 * 1000;
// First four bytes of keccak256("transfer(address,uint256)").
const TRANSFER_SELECTOR = "a9059cbb";
// EIP-1193 and EIP-1474 error codes.
const USER_REJECTED = 4001;
const UNKNOWN_CHAIN = 4902;
const REQUEST_PENDING = -32002;

let isPaying = false;

class PaymentError extends Error {
  constructor(reason) {
    super(reason);
    this.reason = reason;
  }
}

const word = (hex) => hex.replace(/^0x/, "").toLowerCase().padStart(64, "0");

function encodeTransfer(to, units) {
  return `0x${TRANSFER_SELECTOR}${word(to)}${word(BigInt(units).toString(16))}`;
}

async function chainOf(provider) {
  return BigInt(await provider.request({ method: "eth_chainId" }));
}

const isUnknownChain = (error) =>
  error?.code === UNKNOWN_CHAIN || error?.data?.originalError?.code === UNKNOWN_CHAIN;

async function addChain(provider, { chainId, chainName, rpcUrl }) {
  const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
  const chain = { chainId, chainName, rpcUrls: [rpcUrl], nativeCurrency };
  await provider.request({ method: "wallet_addEthereumChain", params: [chain] });
}

async function switchChain(provider, request) {
  try {
    const params = [{ chainId: request.chainId }];
    await provider.request({ method: "wallet_switchEthereumChain", params });
  } catch (error) {
    if (!isUnknownChain(error)) throw error;
    if (!request.rpcUrl) throw new PaymentError("chain");
    await addChain(provider, request);
  }
}

async function send(provider, request) {
  const [from] = await provider.request({ method: "eth_requestAccounts" });
  if (!from) throw new PaymentError("account");
  const wanted = BigInt(request.chainId);
  if ((await chainOf(provider)) !== wanted) await switchChain(provider, request);
  // Some wallets say yes and stay where they are; tokens sent there would be on another network.
  if ((await chainOf(provider)) !== wanted) throw new PaymentError("chain");
  const { chainId, token, to, units } = request;
  const transfer = { from, to: token, value: "0x0", data: encodeTransfer(to, units), chainId };
  return provider.request({ method: "eth_sendTransaction", params: [transfer] });
}

function reasonOf(error) {
  if (error instanceof PaymentError) return error.reason;
  if (error?.code === USER_REJECTED) return "rejected";
  if (error?.code === REQUEST_PENDING) return "busy";
  return /insufficient|exceeds balance/i.test(error?.message ?? "") ? "funds" : "failed";
}

// Remembered across reloads, so that an impatient buyer does not pay twice.
const memoryKey = ({ chainId, to, units }) => `florin:sent:${chainId}:${to}:${units}`;

function wasSent(request) {
  try {
    return Date.now() - Number(sessionStorage.getItem(memoryKey(request))) < SENT_MS;
  } catch {
    return false;
  }
}

function remember(request) {
  try {
    sessionStorage.setItem(memoryKey(request), String(Date.now()));
  } catch {
    // Storage is refused in some frames; the button still stays shut until the page changes.
  }
}

function say(area, name) {
  const message = area.querySelector("[data-wallet-message]");
  message.textContent = name ? area.getAttribute(`data-say-${name}`) : "";
  message.classList.toggle("is-problem", !["", "confirm", "sent"].includes(name));
}

function setDisabled(area, isDisabled) {
  for (const button of area.querySelectorAll("button")) button.disabled = isDisabled;
}

const currentArea = () => document.getElementById("wallets");

// The page may be drawn anew while the wallet is open, so the area is looked up again each time.
function tell(name, isDisabled) {
  const area = currentArea();
  if (!area) return;
  say(area, name);
  setDisabled(area, isDisabled);
}

async function pay(provider, request) {
  if (isPaying || wasSent(request)) return;
  isPaying = true;
  tell("confirm", true);
  try {
    await send(provider, request);
    remember(request);
    tell("sent", true);
  } catch (error) {
    tell(reasonOf(error), false);
  } finally {
    isPaying = false;
  }
}

function buttonFor(area, { name, provider }, isFirst) {
  const button = area.querySelector("template").content.firstElementChild.cloneNode(true);
  button.querySelector("[data-wallet-name]").textContent = name;
  button.classList.toggle("button--primary", isFirst);
  const request = { ...area.dataset };
  button.addEventListener("click", () => pay(provider, request));
  return button;
}

export function offerWallets(panel, wallets) {
  const area = panel.querySelector("#wallets");
  if (!area) return;
  const buttons = wallets.map((wallet, index) => buttonFor(area, wallet, index === 0));
  area.querySelector("[data-wallet-buttons]").replaceChildren(...buttons);
  area.hidden = false;
  if (isPaying) tell("confirm", true);
  else if (wasSent(area.dataset)) tell("sent", true);
}
