// Paying by the Wallet Standard: the server writes the transaction, the wallet shows, signs and sends it.
import { PaymentError, askServer } from "./paying.js";

const CONNECT = "standard:connect";
const SIGN_AND_SEND = "solana:signAndSendTransaction";

export const fits = (wallet, { chainId }) =>
  wallet.chains.includes(chainId) && CONNECT in wallet.features && SIGN_AND_SEND in wallet.features;

const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

export async function send(wallet, { chain, chainId }) {
  const { accounts } = await wallet.features[CONNECT].connect();
  if (!accounts.length) throw new PaymentError("account");
  const account = accounts.find(({ chains }) => chains.includes(chainId));
  if (!account) throw new PaymentError("chain");
  const question = { chain, account: account.address };
  const { transaction } = await askServer("transaction", question, "unprepared");
  const order = { account, chain: chainId, transaction: bytesOf(transaction) };
  await wallet.features[SIGN_AND_SEND].signAndSendTransaction(order);
}
