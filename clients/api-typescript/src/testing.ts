// For your tests: signs a body as Florin does.

import { base64, bytesOf, digest, hex, plainKey, standardKey } from "./signing.js";

/** The headers of a webhook with this body. `now` is in seconds since 1970. */
export async function sign(
  body: string,
  secret: string,
  { eventId = "evt_test", now = Date.now() / 1000 }: { eventId?: string; now?: number } = {},
): Promise<Record<string, string>> {
  const at = Math.floor(now);
  const content = bytesOf(body);
  const standard = await digest(standardKey(secret), `${eventId}.${at}.`, content);
  return {
    "Content-Type": "application/json",
    "X-Service-Signature": `t=${at},v1=${hex(await digest(plainKey(secret), `${at}.`, content))}`,
    "webhook-id": eventId,
    "webhook-timestamp": String(at),
    "webhook-signature": `v1,${base64(standard)}`,
  };
}
