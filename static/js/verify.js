// Checks a signed receipt in the browser. It is no module, so that it also runs in a page that was saved, without a network.
(() => {
  "use strict";

  const TYPE = "florin-receipt+jwt";
  const ALGORITHMS = ["EdDSA", "Ed25519"];
  const LONGEST = 50_000;
  const PAGE_CODE = /^[0-9a-hjkmnp-tv-z]{1,32}$/;
  const RECEIPT_ID = /^rcp_[0-9a-z]{1,32}$/;
  const NETWORK = /^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/;
  const TRANSACTION = /^[0-9A-Za-z]{1,100}$/;
  const STATUSES = ["paid", "reversed", "in_doubt", "refunded", "partly_refunded"];
  const page = document.getElementById("verify");
  const find = (id) => document.getElementById(id);
  // A saved page reaches no server of its own.
  const isServed = location.protocol.startsWith("http");

  const textOf = (bytes) =>
    btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

  // Of the spellings that decoders take for the same bytes only one counts, so that no character can be changed.
  function bytesOf(text) {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
    if (textOf(bytes) !== text) throw new Error("not base64url");
    return bytes;
  }

  const parsed = (part) => JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(part)));

  // What machines were asked and paid (x402's extension offer-receipt) has no type, so that it passes for no receipt of a checkout.
  const isX402 = ({ typ }, { version }) => typ === undefined && version === 1;

  const isText = (value) => typeof value === "string";

  function kindOf(header, claims) {
    if (!ALGORITHMS.includes(header.alg) || "crit" in header) throw new Error("no receipt");
    if (isX402(header, claims)) {
      const isReceipt = "payer" in claims;
      const texts = [header.kid, claims.resourceUrl, claims.network, isReceipt ? claims.payer : claims.payTo];
      if (isReceipt === "payTo" in claims || !texts.every(isText)) throw new Error("neither offer nor receipt");
      return isReceipt ? "x402-receipt" : "x402-offer";
    }
    if (header.typ !== TYPE) throw new Error("no receipt");
    if (!isText(claims.iss) || !header.kid.startsWith(`${claims.iss}#`)) throw new Error("another's key");
    return "genuine";
  }

  function read(token) {
    const parts = token.split(".");
    if (parts.length !== 3 || token.length > LONGEST) throw new Error("no compact JWS");
    const [header, claims, signature] = [parsed(parts[0]), parsed(parts[1]), bytesOf(parts[2])];
    const signed = new TextEncoder().encode(`${parts[0]}.${parts[1]}`);
    return { header, claims, signature, signed, kind: kindOf(header, claims) };
  }

  function readKeys(text) {
    const { keys } = JSON.parse(text);
    if (!Array.isArray(keys)) throw new Error("no JWK Set");
    return keys;
  }

  const fits = (key, kid) => key?.kid === kid && key.kty === "OKP" && key.crv === "Ed25519";

  // What a token is: a name of an outcome, and what was read if its signature fits.
  async function judge(token, keyText) {
    let receipt, keys;
    try {
      receipt = read(token);
    } catch {
      return { outcome: "unreadable" };
    }
    try {
      keys = readKeys(keyText);
    } catch {
      return { outcome: "keyless" };
    }
    const key = keys.find((one) => fits(one, receipt.header.kid));
    if (!key) return { outcome: "unknown" };
    try {
      const known = await crypto.subtle.importKey("raw", bytesOf(key.x), { name: "Ed25519" }, false, ["verify"]);
      const isSigned = await crypto.subtle.verify({ name: "Ed25519" }, known, receipt.signature, receipt.signed);
      if (!isSigned) return { outcome: "forged" };
    } catch {
      return { outcome: "unsupported" };
    }
    return { outcome: outcomeOf(key, receipt), receipt };
  }

  function outcomeOf(key, { header, claims, kind }) {
    if (key.exp !== undefined) return "withdrawn";
    if (kind === "genuine") return claims.livemode === true ? kind : "test";
    // Keys of test mode have names of their own.
    return header.kid.split("#")[1]?.startsWith("t") ? "test" : kind;
  }

  async function digestOf(token) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
    return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  // Where the server that this page came from says what became of the payment since; "" where it does not. A machine's receipt has no id:
  // its server is asked by what is in it, and by a digest that only a bearer can name.
  async function pathOf(token, { header, claims, kind }) {
    if (!isServed || header.kid.split("#")[0] !== page.dataset.issuer) return "";
    if (kind === "genuine") return RECEIPT_ID.test(claims.jti) ? claims.jti : "";
    if (!NETWORK.test(claims.network) || !TRANSACTION.test(claims.transaction ?? "")) return "";
    return `${claims.network}/${claims.transaction}/${await digestOf(token.split(".")[1])}`;
  }

  async function statusOf(token, receipt) {
    const isCheckouts = receipt.kind === "genuine";
    const silent = isCheckouts ? "silent" : "";
    try {
      const path = await pathOf(token, receipt);
      if (!path) return silent;
      const answer = await fetch(`/receipts/${path}`, { cache: "no-store" });
      if (answer.status === 404) return "unlisted";
      const { status, sha256 } = await answer.json();
      if (!STATUSES.includes(status)) return silent;
      return !isCheckouts || sha256 === (await digestOf(token)) ? status : "unlike";
    } catch {
      return silent;
    }
  }

  function show(name, chosen) {
    for (const words of page.querySelectorAll(`[data-${name}]`)) words.hidden = words.dataset[name] !== chosen;
  }

  function factsOf({ header, claims, kind }) {
    if (kind === "genuine") {
      const amount = `${claims.amount} ${claims.currency}`;
      return { issuer: claims.iss, merchant: claims.merchant?.name, amount, paid: claims.paid_at };
    }
    const facts = { issuer: header.kid.split("#")[0], resource: claims.resourceUrl };
    if (kind === "x402-offer") return { ...facts, amount: `${claims.amount} base units of ${claims.asset}` };
    const paid = new Date(claims.issuedAt * 1000);
    return Number.isNaN(paid.valueOf()) ? facts : { ...facts, paid: paid.toISOString() };
  }

  function showFacts(receipt) {
    find("facts").hidden = !receipt;
    if (!receipt) return;
    const facts = factsOf(receipt);
    for (const id of ["issuer", "merchant", "resource", "amount", "paid"]) {
      find(id).textContent = facts[id] ?? "";
      find(id).parentElement.hidden = !facts[id];
    }
    find("claims").textContent = JSON.stringify(receipt.claims, null, 2);
  }

  // The newest question alone is answered.
  let asked = 0;

  async function check() {
    const mine = ++asked;
    show("outcome", "");
    show("status", "");
    showFacts(null);
    const token = find("token").value.trim();
    const { outcome, receipt } = await judge(token, find("keys").value);
    if (mine !== asked) return;
    show("outcome", outcome);
    showFacts(receipt);
    const status = receipt && receipt.kind !== "x402-offer" ? await statusOf(token, receipt) : "";
    if (mine === asked) show("status", status);
  }

  // A printed receipt's QR code names the payment's page in the fragment.
  async function checkPage(code) {
    try {
      const answer = await fetch(`/c/${code}/receipt.jws`, { cache: "no-store" });
      if (!answer.ok) return show("outcome", "missing");
      find("token").value = await answer.text();
      await check();
    } catch {
      show("outcome", "missing");
    }
  }

  find("check").addEventListener("click", check);
  find("file").addEventListener("change", async ({ target }) => {
    if (!target.files.length) return;
    find("token").value = await target.files[0].text();
    await check();
  });
  const code = location.hash.slice(1);
  if (isServed && PAGE_CODE.test(code)) checkPage(code);
})();
