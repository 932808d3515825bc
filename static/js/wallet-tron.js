// Paying over TIP-1193. A tronWeb would ask its node from this page, which the page's policy forbids: the wallet signs, and
// the server writes the transaction and sends it.
import { PaymentError, askServer } from "./paying.js";

// TIP-1193, and what wallets answer that are older than it.
const UNSUPPORTED_METHOD = 4200;
const REJECTED = 4001;
const PENDING = 4000;

async function askOldWallet(provider) {
  const answer = await provider.request({ method: "tron_requestAccounts" });
  if (answer?.code === REJECTED) throw new PaymentError("rejected");
  if (answer?.code === PENDING) throw new PaymentError("busy");
  return [];
}

async function connect(provider) {
  try {
    return await provider.request({ method: "eth_requestAccounts" });
  } catch (error) {
    if (error?.code !== UNSUPPORTED_METHOD) throw error;
    return askOldWallet(provider);
  }
}

// What is signed is of no use on another network; the buyer should see the balance of this one all the same.
async function isElsewhere(provider, chainId) {
  try {
    return BigInt(await provider.request({ method: "eth_chainId" })) !== BigInt(chainId);
  } catch {
    return false;
  }
}

async function switchChain(provider, chainId) {
  if (!(await isElsewhere(provider, chainId))) return;
  await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
  if (await isElsewhere(provider, chainId)) throw new PaymentError("chain");
}

// Signed, and nobody knows whether it was sent. To send it again does no harm; to sign another might pay twice.
const doubtful = new Map();

async function deliver(order, signed) {
  const isAgain = doubtful.delete(order);
  try {
    await askServer("signed", signed, "unsure");
  } catch (error) {
    if (error.reason === "unsure") doubtful.set(order, signed);
    throw isAgain ? new PaymentError("unsure") : error;
  }
}

export const fits = () => true;

export async function send(provider, { chain, chainId, to, units }) {
  const order = `${to}:${units}`;
  if (doubtful.has(order)) return deliver(order, doubtful.get(order));
  const [shared] = (await connect(provider)) ?? [];
  await switchChain(provider, chainId);
  // It is another one on another network.
  const { tronWeb } = provider;
  const account = shared ?? tronWeb?.defaultAddress?.base58;
  if (!account || !tronWeb) throw new PaymentError("account");
  const { transaction, ticket } = await askServer("transaction", { chain, account }, "unprepared");
  const { signature } = await tronWeb.trx.sign(transaction);
  await deliver(order, { ticket, signature: signature[0] });
}
