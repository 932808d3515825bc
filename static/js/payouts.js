// Has the paying wallet sign each payment of a batch. What it signs, and the signature as it comes, go by the server.
import { findWallets } from "./discovery.js";
import {
  SigningError,
  askWallet,
  fits,
  sendOnSolana,
  sendOnTon,
  showButtons,
  signOnTron,
  signTypedData,
  tell,
} from "./signing.js";

const area = document.getElementById("wallets");
const form = document.getElementById("signature");
let left = JSON.parse(document.getElementById("asked").textContent);
const { family, wallet } = area.dataset;
const REASONS = { not_ended: "wait", funds_insufficient: "funds" };

async function ask(address, payouts, signature = "") {
  const body = new FormData(form);
  for (const payout of payouts) body.append("payout", payout);
  body.append("signature", signature);
  const answer = await fetch(address, { method: "POST", body }).catch(() => null);
  if (!answer || answer.status >= 500) throw new SigningError("unsure");
  if (answer.ok) return answer;
  const { error } = await answer.json().catch(() => ({}));
  throw new SigningError(REASONS[error?.code] ?? "refused");
}

const give = (payout, signature) => ask(form.action, [payout], signature);

// TON's raw form, which its wallets tell: after a byte of flags the workchain, the account, and a checksum.
function rawOfTon(address) {
  const [, workchain, ...rest] = atob(address.replaceAll("-", "+").replaceAll("_", "/"));
  const account = rest.slice(0, 32).map((byte) => byte.charCodeAt(0).toString(16).padStart(2, "0"));
  return `${(workchain.charCodeAt(0) << 24) >> 24}:${account.join("")}`;
}

// Solana's and Tron's addresses have one spelling.
const SPELLING = { evm: (text) => text.toLowerCase(), ton: (text) => text.toLowerCase() };

function expectPaying(account) {
  const expected = family === "ton" ? rawOfTon(wallet) : wallet;
  const spelled = SPELLING[family] ?? String;
  if (spelled(account) !== spelled(expected)) throw new SigningError("account");
}

const prepareFor = (payouts) => async (account) => {
  expectPaying(account);
  return (await ask(form.dataset.transactions, payouts)).json();
};

// Each has the first of what is left signed. Returns which those are.
const SIGNING = {
  async evm(provider, [{ payout, typed }]) {
    const { from, signature } = await signTypedData(provider, area.dataset, typed);
    expectPaying(from);
    await give(payout, signature);
    return [payout];
  },
  async solana(provider, [{ payout }]) {
    await sendOnSolana(provider, area.dataset, prepareFor([payout]));
    return [payout];
  },
  async ton(provider, waiting) {
    const { payouts } = await sendOnTon(provider, form.dataset.manifest, (account, most) => {
      const first = waiting.slice(0, Math.min(most, form.dataset.most));
      return prepareFor(first.map(({ payout }) => payout))(account);
    });
    return payouts;
  },
  async tron(provider, [{ payout }]) {
    const { signature } = await signOnTron(provider, area.dataset, prepareFor([payout]));
    await give(payout, signature);
    return [payout];
  },
};

async function signFirst(provider) {
  const signed = await SIGNING[family](provider, left);
  left = left.filter(({ payout }) => !signed.includes(payout));
  return signed;
}

async function sign(provider) {
  while (left.length) if (!(await askWallet(area, () => signFirst(provider)))) return;
  tell(area, "sent", true);
  location.reload();
}

// Called for each wallet that is found, for some before `findWallets` has come back.
function offer() {
  const wallets = [...findWallets(family, offer).values()];
  const usable = wallets.filter(({ provider }) => fits(provider, area.dataset));
  showButtons(area, usable, sign);
}

offer();
