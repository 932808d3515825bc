// TON Connect over an HTTP bridge, with the calls of a bridge in the window: `connect` and `send`. Protocol: ton-blockchain/ton-connect,
// bridge.md, session.md, requests-responses.md. The bridge is not trusted: what the one wallet did not seal is passed over.
import { SigningError } from "./signing.js";
import "./vendor/tweetnacl.js";

const { nacl } = self;
const MOST_CHARACTERS = 64 * 1024;
// How long a bridge keeps a message; and how long one may be confirmed, with a minute for clocks and blocks.
const TTL_SECONDS = 300;
const ASKED_MS = (TTL_SECONDS + 60) * 1000;
const TRIES = 3;
const PAUSE_MS = 2000;
const LONGEST_PAUSE_MS = 30 * 1000;
const KEY = /^[0-9a-f]{64}$/;
const EVENT_ID = /^\d{1,19}$/;
const NONCE = nacl.box.nonceLength;
const UNKNOWN_ERROR = 0;

const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16));
const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const idOf = ({ secret }) => hexOf(nacl.box.keyPair.fromSecretKey(unhex(secret)).publicKey);

// A nonce, and behind it what only the wallet's key opens; in base64.
export function seal({ secret, wallet }, message) {
  const nonce = nacl.randomBytes(NONCE);
  const sealed = nacl.box(new TextEncoder().encode(JSON.stringify(message)), nonce, unhex(wallet), unhex(secret));
  return btoa(String.fromCharCode(...nonce, ...sealed));
}

// Returns what a wallet wrote, and its key; null for heartbeats, other wallets' messages, and what is not for us or no message.
export function unseal({ secret, wallet }, data) {
  if (data.length > MOST_CHARACTERS) return null;
  try {
    const { from, message } = JSON.parse(data);
    if (!KEY.test(from) || (wallet && from !== wallet)) return null;
    const bytes = bytesOf(message);
    const text = nacl.box.open(bytes.subarray(NONCE), bytes.subarray(0, NONCE), unhex(from), unhex(secret));
    const told = JSON.parse(new TextDecoder().decode(text));
    return told && typeof told === "object" ? { from, told } : null;
  } catch {
    return null;
  }
}

// As ton-connect/sdk writes it for Telegram, whose links carry one parameter of few characters.
function inTelegram(query) {
  const signs = { ".": "%2E", "-": "%2D", _: "%5F" };
  const plain = query.replace(/[.\-_]/g, (sign) => signs[sign]);
  return `tonconnect-${plain.replaceAll("&", "-").replaceAll("=", "__").replaceAll("%", "--")}`;
}

// `request` is asked with the link itself; without it, the wallet opens and finds at the bridge what it is asked.
export function linkTo(universal, id, request) {
  const url = new URL(universal);
  const isTelegram = url.hostname === "t.me";
  const asked = request ? { v: request.version, id, r: JSON.stringify(request.message) } : { id };
  const query = new URLSearchParams({ ...(isTelegram && { v: 2 }), ...asked, ret: "back" });
  if (isTelegram) url.searchParams.set("startapp", inTelegram(`${query}`));
  else for (const [name, value] of query) url.searchParams.append(name, value);
  return url.href;
}

export class Relay {
  #bridge;
  #wallet;
  #memory;
  // Of the payment that the buyer pressed for: the page's key, the wallet's, and what was asked. `isOpen` while an answer is due.
  #name = "";
  #session = null;
  // The session whose account this page had. Another one's was shared with a page that the phone forgot.
  #given = null;
  #stream = null;
  #pause = PAUSE_MS;
  #link = "";
  // Those who wait for the wallet: to connect, or for the answer to a request, by its id.
  #waiting = [];

  // `memory` is what js/relayed.js keeps for a page that is loaded again.
  constructor(bridge, wallet, memory) {
    this.#bridge = bridge;
    this.#wallet = wallet;
    this.#memory = memory;
    document.addEventListener("visibilitychange", () => this.#comeBack());
  }

  // `name` is the payment's, as js/relayed.js writes it.
  async connect(name, version, message) {
    this.#find(name);
    if (this.#session?.isTaken || this.#isLeft()) return this.#give();
    // An account that this page had and did not take is asked for anew: it may be another one now.
    if (!this.#session || this.#session.connected) this.#begin();
    await this.#listen();
    this.#show(linkTo(this.#wallet.link, idOf(this.#session), { version, message }));
    return this.#answerTo("connect");
  }

  async send(order) {
    const asked = { id: order.id, body: seal(this.#session, order), topic: order.method, at: Date.now() };
    Object.assign(this.#session, { asked, isTaken: true, isOpen: true });
    this.#save();
    return this.#ask();
  }

  // The same message with the same id: a wallet does nothing twice. Null if nothing was asked that may still be done.
  async resumeOrder(name) {
    this.#find(name);
    return this.#isAsked() ? this.#ask() : null;
  }

  // The link into the wallet, in a page that is drawn anew.
  draw() {
    // For a while there was no place for it, such as under a network that did not answer.
    if (!this.#stream) this.#listenAgain();
    const area = document.getElementById("wallets");
    this.#linkIn(area)?.remove();
    const template = area?.querySelector(`template[data-relay="${this.#wallet.key}"]`);
    if (!this.#link || !template) return;
    const part = template.content.firstElementChild.cloneNode(true);
    part.dataset.relayLink = this.#wallet.key;
    part.href = this.#link;
    area.querySelector("[data-wallet-message]").after(part);
  }

  #show(link) {
    this.#link = link;
    this.draw();
    this.#linkIn(document)?.focus({ preventScroll: true });
  }

  #linkIn(part) {
    return part?.querySelector(`[data-relay-link="${this.#wallet.key}"]`);
  }

  #save() {
    this.#memory.keep(this.#name, this.#session);
  }

  #find(name) {
    if (this.#name === name) return;
    this.#stop();
    this.#waiting = [];
    this.#show("");
    this.#name = name;
    this.#session = this.#memory.recall(name);
  }

  #begin() {
    this.#end();
    const secret = hexOf(nacl.box.keyPair().secretKey);
    this.#session = { secret, wallet: "", last: "", count: -1, isOpen: true, at: Date.now() };
    this.#save();
  }

  #end() {
    this.#stop();
    this.#session = null;
    this.#save();
    this.#show("");
  }

  // The account is known, and the page ended before it asked for the payment.
  #isLeft() {
    return Boolean(this.#session?.connected) && this.#session.isOpen && this.#given !== this.#session;
  }

  #give() {
    this.#given = this.#session;
    return this.#session.connected;
  }

  #isAsked() {
    return Boolean(this.#session?.asked) && Date.now() - this.#session.asked.at < ASKED_MS;
  }

  async #ask() {
    const { id, body, topic } = this.#session.asked;
    const answer = this.#answerTo(id);
    this.#show(linkTo(this.#wallet.link, idOf(this.#session)));
    // It is asked again until it can be reached.
    this.#listen().catch(() => {});
    await this.#post({ body, topic });
    return answer;
  }

  async #post({ body, topic }) {
    const query = new URLSearchParams({ client_id: idOf(this.#session), to: this.#session.wallet, ttl: TTL_SECONDS });
    if (topic) query.set("topic", topic);
    const address = `${this.#bridge}/message?${query}`;
    for (let tries = 1; ; tries += 1) {
      const answer = await fetch(address, { method: "POST", body }).catch(() => null);
      if (answer?.ok) return;
      // It may have arrived all the same.
      if (tries === TRIES) throw new SigningError("unsure");
      await wait(PAUSE_MS);
    }
  }

  // Resolves once the bridge listens for the wallet, and rejects if it cannot be reached.
  #listen() {
    if (this.#stream) return Promise.resolve();
    const { last } = this.#session;
    const query = new URLSearchParams({ client_id: idOf(this.#session), ...(last && { last_event_id: last }) });
    const stream = (this.#stream = new EventSource(`${this.#bridge}/events?${query}`));
    stream.onmessage = (event) => this.#hear(event);
    return new Promise((resolve, reject) => {
      stream.onopen = () => {
        this.#pause = PAUSE_MS;
        resolve();
      };
      stream.onerror = () => {
        reject(new SigningError("unprepared"));
        this.#stop();
        setTimeout(() => this.#listenAgain(), this.#pause);
        this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS);
      };
    });
  }

  #stop() {
    this.#stream?.close();
    this.#stream = null;
  }

  #listenAgain() {
    const isShown = document.getElementById("wallets");
    if (isShown && this.#session && this.#waiting.length) this.#listen().catch(() => {});
  }

  // A phone that comes back from the wallet has lost its connection, at times without a word.
  #comeBack() {
    if (document.hidden || this.#stream?.readyState === EventSource.CONNECTING) return;
    this.#stop();
    this.#listenAgain();
  }

  // Kept in one piece: a page that ends in between hears it again.
  #hear({ data, lastEventId }) {
    const session = this.#session;
    const message = unseal(session, data);
    if (EVENT_ID.test(lastEventId)) session.last = lastEventId;
    if (message?.told.event) this.#hearEvent(message.from, message.told);
    else if (message && session.wallet) this.#hearAnswer(message.told);
    if (this.#session === session) this.#save();
  }

  // The first wallet that connects is the session's. Events are counted, so that none is heard twice.
  #hearEvent(from, { event, id, payload }) {
    const session = this.#session;
    if (!Number.isInteger(id) || id <= session.count) return;
    if (event === "disconnect" && session.wallet) {
      this.#end();
      this.#settle(() => true, { error: { code: UNKNOWN_ERROR } });
    } else if (event === "connect_error" && !session.wallet) {
      this.#end();
      this.#settle((what) => what === "connect", { payload: { code: Number(payload?.code) } });
    } else if (event === "connect" && !session.wallet) {
      // Open still: the payment itself is asked for next.
      Object.assign(session, { wallet: from, count: id, connected: { payload } });
      this.#show("");
      this.#settle((what) => what === "connect", this.#give());
    }
  }

  #hearAnswer({ id, result, error }) {
    const session = this.#session;
    if (!this.#isAsked() || String(id) !== session.asked.id) return;
    const isSent = typeof result === "string" && result !== "";
    if (isSent) {
      // The wallet need not remember a page that is done.
      const farewell = { method: "disconnect", params: [], id: String(Date.now()) };
      this.#post({ body: seal(session, farewell) }).catch(() => {});
      this.#end();
    } else {
      Object.assign(session, { asked: null, isOpen: false });
      this.#show("");
    }
    const code = Number.isInteger(error?.code) ? error.code : UNKNOWN_ERROR;
    this.#settle((what) => what === String(id), isSent ? { result } : { error: { code } });
  }

  #answerTo(what) {
    return new Promise((resolve) => this.#waiting.push({ what, resolve }));
  }

  #settle(isMeant, answer) {
    const meant = this.#waiting.filter(({ what }) => isMeant(what));
    this.#waiting = this.#waiting.filter((one) => !meant.includes(one));
    for (const { resolve } of meant) resolve(answer);
  }
}
