// Verifies webhooks: the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, else `X-Service-Signature`.

import { OtherModeError, SignatureError, UsageError } from "./errors.js";
import { base64, bytesOf, digest, hex, isEqual, plainKey, standardKey } from "./signing.js";
import type { EventBody } from "./types.js";

export const TOLERANCE_SECONDS = 300;

/** `livemode`: true if absent; false for test events, null for both. `now` is in seconds since 1970. */
export type VerifyOptions = { livemode?: boolean | null; now?: number };
/** Node's headers, a `Headers`, or an object. */
export type HeadersLike = Headers | Record<string, string | string[] | undefined>;

/**
 * The event of a webhook that one of the `secrets` signed at most 300 seconds ago. `body` is what arrived, before anything parsed
 * it. One secret signs both modes: give `livemode: false` to receive test events instead of live ones. Throws SignatureError,
 * OtherModeError, and UsageError without a usable secret.
 */
export async function construct(
  body: Uint8Array | string,
  headers: HeadersLike,
  secrets: string | string[],
  options: VerifyOptions = {},
): Promise<EventBody> {
  const keys = typeof secrets === "string" ? [secrets] : secrets;
  if (keys.length === 0) throw new UsageError("Give a webhook secret.");
  keys.forEach(plainKey);
  const content = typeof body === "string" ? bytesOf(body) : body;
  const told = lowered(headers);
  const isStandard = told.has("webhook-signature");
  const [sentAt, given] = isStandard ? standard(told) : stripeLike(told.get("x-service-signature") ?? "");
  if (Math.abs((options.now ?? Date.now() / 1000) - sentAt) > TOLERANCE_SECONDS) {
    throw new SignatureError("The webhook was signed too long ago, or the clocks differ.");
  }
  const text = isStandard ? `${told.get("webhook-id") ?? ""}.${sentAt}.` : `${sentAt}.`;
  const wanted = await Promise.all(
    keys.map(async (secret) =>
      isStandard ? base64(await digest(standardKey(secret), text, content)) : hex(await digest(plainKey(secret), text, content)),
    ),
  );
  const matches = given.flatMap((one) => wanted.map((other) => isEqual(one, other)));
  if (!matches.includes(true)) throw new SignatureError("No secret made this signature.");
  return eventOf(content, options.livemode === undefined ? true : options.livemode);
}

function eventOf(content: Uint8Array, livemode: boolean | null): EventBody {
  let event: any;
  try {
    event = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
  } catch (error) {
    throw new SignatureError("The body is not JSON.", { cause: error });
  }
  if (typeof event !== "object" || typeof event?.livemode !== "boolean") throw new SignatureError("The body is no event.");
  if (livemode !== null && event.livemode !== livemode) {
    throw new OtherModeError(event.livemode ? "The event is of live mode." : "The event is of test mode.");
  }
  return event;
}

function lowered(headers: HeadersLike): Map<string, string> {
  const entries: [string, string | string[] | undefined][] =
    headers instanceof Headers ? [...headers.entries()] : Object.entries(headers);
  return new Map(entries.map(([name, value]) => [name.toLowerCase(), Array.isArray(value) ? value.join(",") : (value ?? "")]));
}

function standard(told: Map<string, string>): [number, string[]] {
  const signatures = (told.get("webhook-signature") ?? "").split(" ").filter((part) => part.startsWith("v1,"));
  return [timeOf(told.get("webhook-timestamp") ?? ""), signatures.map((part) => part.slice(3))];
}

function stripeLike(header: string): [number, string[]] {
  const fields = header.split(",");
  const times = fields.filter((field) => field.startsWith("t="));
  if (times.length !== 1) throw new SignatureError("The signature names no time, or several.");
  return [timeOf(times[0]!.slice(2)), fields.filter((field) => field.startsWith("v1=")).map((field) => field.slice(3))];
}

function timeOf(text: string): number {
  if (!/^[0-9]{1,12}$/.test(text)) throw new SignatureError("The time of the signature is no number of seconds.");
  return Number(text);
}
