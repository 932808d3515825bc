// What a page asks a wallet in the browser: to connect, to switch its chain, to send and to sign. Loaded once there is one.

// EIP-1193 and EIP-1474 error codes, which other families' wallets use too, and the Wallet Standard's own.
const USER_REJECTED = [4001, 4001000];
const REQUEST_PENDING = -32002;
const UNSUPPORTED_METHOD = 4200;
// EIP-3085.
const UNKNOWN_CHAIN = 4902;
// A wallet without EIP-5792, or one that cannot do these calls all or none: it is asked for one after the other.
const UNABLE_TO_BATCH = [UNSUPPORTED_METHOD, -32601, 5700, 5710, 5740, 5750, 5760];
// First four bytes of keccak256("transfer(address,uint256)").
const TRANSFER_SELECTOR = "a9059cbb";

export class SigningError extends Error {
  constructor(reason) {
    super(reason);
    this.reason = reason;
  }
}

// Some wallets throw plain text.
export function reasonOf(error) {
  if (error instanceof SigningError) return error.reason;
  const words = error?.message ?? String(error);
  if (USER_REJECTED.includes(error?.code) || /\bby (the )?user|user (rejected|denied)/i.test(words)) {
    return "rejected";
  }
  if (error?.code === REQUEST_PENDING) return "busy";
  return /insufficient|exceeds balance/i.test(words) ? "funds" : "failed";
}

// Says in the page's words what became of a request: `data-say-<name>`.
export function tell(area, name, isDisabled) {
  const message = area?.querySelector("[data-wallet-message]");
  if (!message) return;
  message.textContent = area.getAttribute(`data-say-${name}`);
  message.classList.toggle("is-problem", !["confirm", "sent"].includes(name));
  for (const button of area.querySelectorAll("button")) button.disabled = isDisabled;
}

// A wallet may never answer, if its window is closed.
export const SILENT_MS = 60 * 1000;

// What a wallet was asked last by `askWallet`, and whether its answer is awaited.
let last = { isOpen: false };

const isAsked = (subject) => last.isOpen && last.subject === subject;

// Asks a wallet once, however often its button is pressed, and returns what `work` resolves to; null if it failed, or if another
// question was asked meanwhile. After a minute of silence the buttons open again, and a late answer counts still.
// `subjectOf` returns what the question is about now: of anything else than that nothing is said.
export async function askWallet(area, work, subjectOf = () => area) {
  const subject = subjectOf();
  if (isAsked(subject)) return null;
  const mine = (last = { subject, isOpen: true });
  const isWanted = () => last === mine && subjectOf() === subject;
  tell(area, "confirm", true);
  const silence = setTimeout(() => {
    mine.isOpen = false;
    if (isWanted()) tell(area, "silent", false);
  }, SILENT_MS);
  try {
    const answer = await work();
    return isWanted() ? answer : null;
  } catch (error) {
    if (isWanted()) tell(area, reasonOf(error), false);
    return null;
  } finally {
    clearTimeout(silence);
    mine.isOpen = false;
  }
}

// One button for each wallet, from the area's template. The first stands out. A wallet that is found late opens none while another
// one's answer about the `subject` is awaited.
export function showButtons(area, wallets, onClick, subject = area) {
  const buttons = wallets.map(({ name, provider }, index) => {
    const button = area.querySelector("template").content.firstElementChild.cloneNode(true);
    if (name) button.querySelector("[data-wallet-name]").textContent = name;
    button.classList.toggle("button--primary", !index);
    button.addEventListener("click", () => onClick(provider));
    return button;
  });
  area.querySelector("[data-wallet-buttons]").replaceChildren(...buttons);
  area.hidden = !buttons.length;
  if (isAsked(subject)) tell(area, "confirm", true);
}

const ask = (provider, method, ...params) =>
  provider.request(params.length ? { method, params } : { method });

async function isOn(provider, chainId) {
  return BigInt(await ask(provider, "eth_chainId")) === BigInt(chainId);
}

async function addChain(provider, { chainId, chainName, rpcUrl }) {
  if (!rpcUrl) throw new SigningError("chain");
  const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
  await ask(provider, "wallet_addEthereumChain", { chainId, chainName, rpcUrls: [rpcUrl], nativeCurrency });
}

async function switchChain(provider, chain) {
  try {
    await ask(provider, "wallet_switchEthereumChain", { chainId: chain.chainId });
  } catch (error) {
    if (![error?.code, error?.data?.originalError?.code].includes(UNKNOWN_CHAIN)) throw error;
    await addChain(provider, chain);
  }
  // Some wallets say yes and stay where they are; what is sent there would be on another network.
  if (!(await isOn(provider, chain.chainId))) throw new SigningError("chain");
}

// `chain` has `chainId` in hex, and `chainName` and `rpcUrl` where the wallet may learn it; with `account`, no other account will
// do. Returns the account's address.
async function connect(provider, chain) {
  const accounts = await ask(provider, "eth_requestAccounts");
  if (!accounts.length) throw new SigningError("account");
  const isWanted = (address) => !chain.account || address.toLowerCase() === chain.account.toLowerCase();
  const from = accounts.find(isWanted);
  if (!from) throw new SigningError("other");
  if (!(await isOn(provider, chain.chainId))) await switchChain(provider, chain);
  return from;
}

// `typed` is EIP-712's object. Returns the signer's address and its signature.
export async function signTypedData(provider, chain, typed) {
  const from = await connect(provider, chain);
  return { from, signature: await ask(provider, "eth_signTypedData_v4", from, JSON.stringify(typed)) };
}

// Sends calls `{to, data, gas?}`, several in one prompt where the wallet can (EIP-5792). Returns the hashes of transactions,
// none for such a bundle. `onSent` hears of each call by its place: if a later one is declined, those before it were sent.
// `chain.expectDue`, if given, throws once the wallet is connected and the calls are no longer to be sent.
export async function sendCalls(provider, chain, calls, onSent = () => {}) {
  const from = await connect(provider, chain);
  await chain.expectDue?.();
  const { chainId } = chain;
  if (calls.length > 1) {
    const batch = calls.map(({ to, data }) => ({ to, data, value: "0x0" }));
    try {
      const bundle = { version: "2.0.0", from, chainId, atomicRequired: true, calls: batch };
      await ask(provider, "wallet_sendCalls", bundle);
      calls.forEach((_, place) => onSent(place));
      return [];
    } catch (error) {
      if (!UNABLE_TO_BATCH.includes(error?.code)) throw error;
    }
  }
  const hashes = [];
  for (const [place, call] of calls.entries()) {
    hashes.push(await ask(provider, "eth_sendTransaction", { from, value: "0x0", chainId, ...call }));
    onSent(place);
  }
  return hashes;
}

const word = (hex) => hex.replace(/^0x/, "").toLowerCase().padStart(64, "0");

async function payOnEvm(provider, request) {
  if (request.free) return payFreely(provider, request);
  const data = `0x${TRANSFER_SELECTOR}${word(request.to)}${word(BigInt(request.units).toString(16))}`;
  await sendCalls(provider, request, [{ to: request.token, data }]);
}

// The wallet signs the token's own transfer, and the server sends it and pays the network. `unfree`: only the payer's own
// transaction will do. Whoever signed it already is asked no second time.
async function payFreely(provider, request) {
  const order = `${request.to}:${request.units}`;
  if (doubtful.has(order)) return deliver(order, doubtful.get(order));
  const account = await connect(provider, request);
  await request.expectDue();
  const question = { chain: request.chain, account, free: true };
  const { typed_data: typed, ticket } = await askServer("transaction", question, "unfree");
  await deliverFirst(request, order, { ticket, signature: await signFreely(provider, account, typed) });
}

async function signFreely(provider, account, typed) {
  try {
    return await ask(provider, "eth_signTypedData_v4", account, JSON.stringify(typed));
  } catch (error) {
    // Some wallets and devices sign no typed data.
    const isUnable = [UNSUPPORTED_METHOD, -32601].includes(error?.code) || /not support|unsupported/i.test(error?.message);
    throw isUnable ? new SigningError("unfree") : error;
  }
}

const REFUSALS = {
  funds_insufficient: "funds",
  gas_free_unavailable: "unfree",
  payment_pending: "sent",
  signature_invalid: "changed",
  transaction_refused: "refused",
};

// On a bad connection an answer may never come. The server's nodes have their time first.
const ANSWER_MS = 30 * 1000;

// What a page cannot do, the server does. `reason` is what to say if there is no answer, or none that says more.
async function askServer(action, question, reason) {
  const answer = await fetch(`${location.pathname}/${action}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(question),
    signal: AbortSignal.timeout(ANSWER_MS),
  }).catch(() => null);
  // Such an answer has no code. What it refused to take was not sent; of what was sent before, it says nothing.
  if (answer?.status === 429) {
    throw Object.assign(new SigningError(reason === "unsure" ? "unprepared" : reason), { isUnread: true });
  }
  const body = await answer?.json().catch(() => null);
  if (!body || answer.status >= 500) throw new SigningError(reason);
  if (answer.ok) return body;
  throw new SigningError(REFUSALS[body.error?.code] ?? "unprepared");
}

// The Wallet Standard: the server writes the transaction, the wallet shows, signs and sends it.
const CONNECT = "standard:connect";
const SIGN_AND_SEND = "solana:signAndSendTransaction";

const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

async function connectOnSolana(wallet, { chainId }) {
  const { accounts } = await wallet.features[CONNECT].connect();
  if (!accounts.length) throw new SigningError("account");
  const account = accounts.find(({ chains }) => chains.includes(chainId));
  if (!account) throw new SigningError("chain");
  return account;
}

// `prepare` returns the transaction of an account, in base64.
export async function sendOnSolana(wallet, { chainId }, prepare) {
  const account = await connectOnSolana(wallet, { chainId });
  const { transaction } = await prepare(account.address);
  const order = { account, chain: chainId, transaction: bytesOf(transaction) };
  await wallet.features[SIGN_AND_SEND].signAndSendTransaction(order);
}

// The wallet signs without sending; the server signs last, as the one who pays the network. Behind the number of signatures comes
// the server's, then the payer's.
const SIGN_ONLY = "solana:signTransaction";
const PAYERS_PLACE = [1 + 64, 1 + 128];
const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

// Whether a wallet can let the server send its payment.
export const paysFreely = (wallet, { family }) => family !== "solana" || SIGN_ONLY in wallet.features;

async function payFreelyOnSolana(wallet, request) {
  const order = `${request.to}:${request.units}`;
  if (doubtful.has(order)) return deliver(order, doubtful.get(order));
  const account = await connectOnSolana(wallet, request);
  await request.expectDue();
  const question = { chain: request.chain, account: account.address, free: true };
  const { transaction, ticket } = await askServer("transaction", question, "unfree");
  const asked = { account, chain: request.chainId, transaction: bytesOf(transaction) };
  const [{ signedTransaction }] = await wallet.features[SIGN_ONLY].signTransaction(asked);
  await deliverFirst(request, order, { ticket, signature: hexOf(signedTransaction.slice(...PAYERS_PLACE)) });
}

const askFor = ({ chain, expectDue }) => async (account) => {
  await expectDue();
  return askServer("transaction", { chain, account }, "unprepared");
};

function payOnSolana(wallet, request) {
  if (request.free && paysFreely(wallet, request)) return payFreelyOnSolana(wallet, request);
  return sendOnSolana(wallet, request, askFor(request));
}

// TIP-1193. A tronWeb would ask its node from this page, which the page's policy forbids: the wallet signs, and the server
// writes the transaction and sends it. These are answers of wallets that are older than TIP-1193.
const OLD_REASONS = { 4000: "busy", 4001: "rejected" };

async function accountsOnTron(provider) {
  try {
    return await ask(provider, "eth_requestAccounts");
  } catch (error) {
    if (error?.code !== UNSUPPORTED_METHOD) throw error;
    const answer = await ask(provider, "tron_requestAccounts");
    if (answer?.code in OLD_REASONS) throw new SigningError(OLD_REASONS[answer.code]);
    return [];
  }
}

async function connectOnTron(provider, { chainId }) {
  const [shared] = (await accountsOnTron(provider)) ?? [];
  // What is signed is of no use on another network; the buyer should see the balance of this one all the same.
  if (!(await isOn(provider, chainId).catch(() => true))) await switchChain(provider, { chainId });
  // It is another one on another network.
  const account = shared ?? provider.tronWeb?.defaultAddress?.base58;
  if (!account) throw new SigningError("account");
  return account;
}

// Signed, and nobody knows whether it was sent: also while its answer is awaited, for the buyer may press again by then. To send it
// again does no harm; to sign another might pay twice.
const doubtful = new Map();

async function deliver(order, signed) {
  const isAgain = doubtful.has(order);
  // A wallet that was asked twice may answer twice: what it signed first is sent again, for both might pay.
  if (!isAgain) doubtful.set(order, signed);
  try {
    await askServer("signed", doubtful.get(order), "unsure");
    doubtful.delete(order);
  } catch (error) {
    if (error.reason !== "unsure" && !(isAgain && error.isUnread)) doubtful.delete(order);
    throw isAgain ? new SigningError("unsure") : error;
  }
}

// What a wallet signed for the buyer's payment, unless what it had signed before was sent meanwhile.
function deliverFirst(request, order, signed) {
  request.onSigned();
  return deliver(order, signed);
}

// `prepare` returns the transaction of an account, and what else the caller wants back with the signature.
export async function signOnTron(provider, { chainId }, prepare) {
  const account = await connectOnTron(provider, { chainId });
  const { tronWeb } = provider;
  if (!tronWeb) throw new SigningError("account");
  const { transaction, ...rest } = await prepare(account);
  const { signature } = await tronWeb.trx.sign(transaction);
  return { ...rest, signature: signature[0] };
}

async function payOnTron(provider, request) {
  const order = `${request.to}:${request.units}`;
  if (doubtful.has(order)) return deliver(order, doubtful.get(order));
  await deliverFirst(request, order, await signOnTron(provider, request, askFor(request)));
}

// TON Connect's bridge in the page, its answers, and its protocol's version.
const TON_REASONS = { 300: "rejected" };
const TON_CONNECT = 2;

// How many messages every wallet takes in one request, unless it tells another number: v3 and v4 send no more at once.
const TON_MESSAGES = 4;

// Of the account: a bridge's own `deviceInfo` is of no account yet, and may tell what only newer wallets take.
function mostOnTon(device) {
  const features = Array.isArray(device?.features) ? device.features : [];
  const sending = features.filter((one) => one?.name === "SendTransaction");
  const told = sending.map(({ maxMessages }) => Number.parseInt(maxMessages, 10)).filter(Number.isInteger);
  return told.length ? Math.max(1, Math.min(...told)) : TON_MESSAGES;
}

// Returns the account's address, raw, and how many messages it takes at once. `chainId` is the network's number, if one is wanted:
// wallets of before tell none.
async function connectOnTon(bridge, { manifest, chainId }) {
  const { payload } = await bridge.connect(TON_CONNECT, { manifestUrl: manifest, items: [{ name: "ton_addr" }] });
  const account = payload?.items?.find(({ name }) => name === "ton_addr");
  if (!account) throw new SigningError(TON_REASONS[payload?.code] ?? "account");
  if (chainId && account.network && account.network !== chainId) throw new SigningError("chain");
  return { address: account.address, most: mostOnTon(payload.device) };
}

async function orderOnTon(bridge, manifest, prepare, chainId) {
  const { address, most } = await connectOnTon(bridge, { manifest, chainId });
  const { transaction, ...rest } = await prepare(address, most);
  const order = { method: "sendTransaction", params: [JSON.stringify(transaction)], id: String(Date.now()) };
  return { answer: await bridge.send(order), rest };
}

// `prepare` returns the request of an account, whose address is raw, with at most so many messages, and what else the caller wants
// back. With `chainId`, no wallet of another network will do.
export async function sendOnTon(bridge, manifest, prepare, chainId = "") {
  // What a wallet behind a relay was asked, and may still do, it is asked no second time.
  const resumed = await bridge.resumeOrder?.();
  const { answer, rest } = resumed ? { answer: resumed } : await orderOnTon(bridge, manifest, prepare, chainId);
  if (answer.error) throw new SigningError(TON_REASONS[answer.error.code] ?? "failed");
  return rest;
}

// TEP-2's form for people, which their wallets show: non-bounceable, and marked on the test network; then CRC-16 (XMODEM).
const TON_TEST = "-3";
const TON_TAG = 0x51;
const TON_TEST_TAG = 0xd1;
const TON_POLYNOMIAL = 0x1021;

function checksumOfTon(bytes) {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 0x8000 ? (sum << 1) ^ TON_POLYNOMIAL : sum << 1) & 0xffff;
  }
  return [sum >> 8, sum & 0xff];
}

export function friendlyOfTon(raw, chainId) {
  const [workchain, account] = raw.split(":");
  const key = account.match(/../g).map((pair) => parseInt(pair, 16));
  const body = [chainId === TON_TEST ? TON_TEST_TAG : TON_TAG, Number(workchain) & 0xff, ...key];
  const text = btoa(String.fromCharCode(...body, ...checksumOfTon(body)));
  return text.replaceAll("+", "-").replaceAll("/", "_");
}

// At the root of each of our hosts, for a wallet in the browser reads it from the page's own.
const MANIFEST = "/tonconnect-manifest.json";

function payOnTon(wallet, request) {
  // One behind a relay remembers each payment.
  const bridge = wallet.forPayment?.(request) ?? wallet;
  const manifest = new URL(MANIFEST, location.href).href;
  return sendOnTon(bridge, manifest, askFor(request), request.chainId);
}

// How each family's wallet pays what a checkout's page asks for.
export const PAYING = { evm: payOnEvm, solana: payOnSolana, ton: payOnTon, tron: payOnTron };

// How each family's wallet names the account with which it receives on a chain: `chain` as in `connect`, with TON's `manifest`.
export const ACCOUNTS = {
  evm: connect,
  solana: async (wallet, chain) => (await connectOnSolana(wallet, chain)).address,
  ton: async (bridge, chain) => friendlyOfTon((await connectOnTon(bridge, chain)).address, chain.chainId),
  tron: connectOnTron,
};

// The Wallet Standard's signature of bytes, and the alphabet in which Solana writes them.
const SIGN_MESSAGE = "solana:signMessage";
const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

function base58(bytes) {
  let rest = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let text = "";
  for (; rest; rest /= 58n) text = BASE58[rest % 58n] + text;
  const zeros = bytes.findIndex((byte) => byte);
  return "1".repeat(zeros < 0 ? bytes.length : zeros) + text;
}

function expectAccount(found, { account }) {
  if (found !== account) throw new SigningError("other");
}

// How each family's wallet signs a text with the key of the account that `chain` names, as `connect` takes it.
export const MESSAGES = {
  async evm(provider, chain, text) {
    const from = await connect(provider, chain);
    return ask(provider, "personal_sign", `0x${hexOf(new TextEncoder().encode(text))}`, from);
  },
  async solana(wallet, chain, text) {
    const account = await connectOnSolana(wallet, chain);
    expectAccount(account.address, chain);
    const [{ signature }] = await wallet.features[SIGN_MESSAGE].signMessage({
      account,
      message: new TextEncoder().encode(text),
    });
    return base58(signature);
  },
  async tron(provider, chain, text) {
    expectAccount(await connectOnTron(provider, chain), chain);
    if (!provider.tronWeb) throw new SigningError("account");
    return provider.tronWeb.trx.signMessageV2(text);
  },
};

export const signsFor = (wallet, request) =>
  request.family in MESSAGES &&
  connects(wallet, request) &&
  (request.family !== "solana" || SIGN_MESSAGE in wallet.features);

export const connects = (wallet, { family, chainId }) =>
  family !== "solana" || (wallet.chains.includes(chainId) && CONNECT in wallet.features);

export const fits = (wallet, request) =>
  connects(wallet, request) && (request.family !== "solana" || SIGN_AND_SEND in wallet.features);
