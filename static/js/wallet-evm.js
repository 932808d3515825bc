// Paying over EIP-1193. The ERC-20 transfer is encoded by hand.
import { PaymentError } from "./paying.js";

// First four bytes of keccak256("transfer(address,uint256)").
const TRANSFER_SELECTOR = "a9059cbb";
// EIP-3085.
const UNKNOWN_CHAIN = 4902;

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

export const fits = () => true;

export async function send(provider, request) {
  const [from] = await provider.request({ method: "eth_requestAccounts" });
  if (!from) throw new PaymentError("account");
  const wanted = BigInt(request.chainId);
  if ((await chainOf(provider)) !== wanted) await switchChain(provider, request);
  // Some wallets say yes and stay where they are; tokens sent there would be on another network.
  if ((await chainOf(provider)) !== wanted) throw new PaymentError("chain");
  const { chainId, token, to, units } = request;
  const transfer = { from, to: token, value: "0x0", data: encodeTransfer(to, units), chainId };
  await provider.request({ method: "eth_sendTransaction", params: [transfer] });
}
