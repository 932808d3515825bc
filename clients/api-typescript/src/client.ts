// The client: where Florin is, and which key to use.

import { Resource } from "./calls.js";
import { UsageError } from "./errors.js";
import { Operations } from "./operations.js";

const VERSION = "0.1.0";

/** `timeout` and `wait` are in seconds. Give a `fetch` of your own for a proxy. */
export type Options = { timeout?: number; retries?: number; wait?: number; fetch?: typeof globalThis.fetch };

/**
 * Calls the API at `url`, such as https://pay.example.com, with an API `key`.
 *
 * A request takes at most `timeout` seconds. It is repeated up to `retries` times without an answer, and after 429 and 5xx, but only
 * where that does nothing twice: a GET, a body with its `order_ref` or `reference`, or a POST with an Idempotency-Key, which the client
 * makes unless you give one. PATCH and DELETE are sent once. Throws UsageError for a url that is not https (on this machine http
 * will do), or a key that is none.
 */
export class Florin extends Operations {
  readonly livemode: boolean;

  constructor(url: string, key: string, options: Options = {}) {
    if (!/^sk_(live|test)_[\x21-\x7e]+$/.test(key)) throw new UsageError("The key begins with sk_live_ or sk_test_.");
    const { timeout = 30, retries = 2, wait = 0.5, fetch = globalThis.fetch } = options;
    const headers = { Authorization: `Bearer ${key}`, Accept: "application/json", "User-Agent": `florin-typescript/${VERSION}` };
    super(new Resource({ url: rootOf(url), headers, timeout, retries, wait, fetch }));
    this.livemode = key.startsWith("sk_live_");
  }
}

function rootOf(url: string): string {
  let parts: URL;
  try {
    parts = new URL(url);
  } catch {
    throw new UsageError("The url is an https address.");
  }
  if (!["http:", "https:"].includes(parts.protocol) || parts.username || parts.search || parts.hash) {
    throw new UsageError("The url is an https address with a host and at most a path.");
  }
  const isLoopback = parts.hostname === "localhost" || parts.hostname === "[::1]" || /^127(\.\d+){3}$/.test(parts.hostname);
  if (parts.protocol === "http:" && !isLoopback) throw new UsageError("The url is plain http: the key would travel in the open.");
  return parts.origin + parts.pathname.replace(/\/+$/, "");
}
