// One call of the API: its request, its repeats, and what its answer means.

import { ApiError, FlorinError, NoAnswerError, UsageError } from "./errors.js";
import { Pages } from "./pages.js";

const PREFIX = "/api/v1";
const LONGEST_WAIT_SECONDS = 60;

/** What a POST takes besides its body. */
export type KeyOption = { idempotencyKey?: string | undefined };

/** How calls are sent. Times are in seconds; `wait` is the first pause before a repeat, each further one is twice as long. */
export type Caller = {
  url: string;
  headers: Record<string, string>;
  timeout: number;
  retries: number;
  wait: number;
  fetch: typeof globalThis.fetch;
};

type Call = { body?: object; key?: string | undefined; query?: object; own?: string; takesKey?: boolean; raw?: boolean };
type Rules = { repeat: boolean; own: boolean; raw: boolean };

/** Operations that share a path. */
export class Resource {
  declare readonly caller: Caller;

  constructor(caller: Caller) {
    // Not enumerable: console.log and JSON.stringify would tell the key.
    Object.defineProperty(this, "caller", { value: caller });
  }

  protected async call(method: string, path: string[], told: Call): Promise<any> {
    const headers: Record<string, string> = { ...this.caller.headers };
    const named = told.own ? (told.body as Record<string, unknown> | undefined)?.[told.own] : undefined;
    // The server refuses what is no text.
    const own = typeof named === "string" && named !== "";
    if (told.takesKey && (told.key !== undefined || !own)) {
      headers["Idempotency-Key"] = told.key === undefined ? crypto.randomUUID() : checked(told.key);
    }
    if (told.body !== undefined) headers["Content-Type"] = "application/json";
    const repeat = method === "GET" || own || "Idempotency-Key" in headers;
    const url = this.caller.url + PREFIX + filled(path) + asked(told.query ?? {});
    const request: RequestInit = { method, headers, redirect: "manual" };
    if (told.body !== undefined) request.body = JSON.stringify(told.body);
    try {
      return await sent(this.caller, url, request, { repeat, own, raw: told.raw ?? false });
    } catch (error) {
      if (error instanceof FlorinError) error.idempotencyKey = headers["Idempotency-Key"] ?? null;
      throw error;
    }
  }

  protected pages(path: string[], query: object): Pages<any> {
    return new Pages((wanted) => this.call("GET", path, { query: wanted }), query as Record<string, unknown>);
  }
}

/** Send a request, again where that is safe and may help. Throws FlorinError. */
async function sent(caller: Caller, url: string, request: RequestInit, rules: Rules): Promise<unknown> {
  const tries = rules.repeat ? caller.retries + 1 : 1;
  for (let number = 0; ; number += 1) {
    let pause: number | null = caller.wait * 2 ** number * (0.5 + Math.random() / 2);
    try {
      return await answer(caller, url, request, rules.raw);
    } catch (error) {
      if (error instanceof ApiError) pause = pauseAfter(error, pause, rules.own);
      else if (!(error instanceof NoAnswerError)) throw error;
      if (number === tries - 1 || pause === null) throw error;
    }
    const milliseconds = pause * 1000;
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
  }
}

/** How long to wait before a repeat; null where it would not help. */
function pauseAfter(error: ApiError, pause: number, own: boolean): number | null {
  // A concurrent request with the same reference may still be creating the object.
  const isRace = own && error.status === 409 && error.code === "state_conflict";
  if (!isRace && error.status !== 429 && error.status < 500) return null;
  const wait = error.retryAfter ?? pause;
  return wait <= LONGEST_WAIT_SECONDS ? wait : null;
}

async function answer(caller: Caller, url: string, request: RequestInit, raw: boolean): Promise<unknown> {
  // A plain function: browsers refuse their own fetch as a method of another object.
  const { fetch } = caller;
  let response: Response;
  let content: Uint8Array;
  try {
    response = await fetch(url, { ...request, signal: AbortSignal.timeout(caller.timeout * 1000) });
    content = new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw new NoAnswerError("No complete answer.", { cause: error });
  }
  if (!response.ok) throw new ApiError(response.status, response.headers, new TextDecoder().decode(content));
  if (raw) return content;
  if (response.status === 204) return null;
  return objectOf(content);
}

function objectOf(content: Uint8Array): object {
  let found: unknown;
  try {
    found = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
  } catch (error) {
    throw new NoAnswerError("The answer is not JSON.", { cause: error });
  }
  if (typeof found !== "object" || found === null || Array.isArray(found)) {
    throw new NoAnswerError("The answer is no JSON object.");
  }
  return found;
}

/** The path with its ids. Throws UsageError for one that would make another path. */
function filled([pattern, ...ids]: string[]): string {
  if (ids.some((id) => typeof id !== "string" || ["", ".", ".."].includes(id))) {
    throw new UsageError("An id is empty or no id.");
  }
  return ids.reduce((path, id) => path.replace("{}", () => encodeURIComponent(id)), pattern ?? "");
}

function asked(query: object): string {
  const found = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return found.length ? `?${new URLSearchParams(found.map(([name, value]) => [name, String(value)]))}` : "";
}

function checked(key: string): string {
  if (!/^[\x20-\x7e]+$/.test(key)) throw new UsageError("An Idempotency-Key is printable ASCII.");
  return key;
}
