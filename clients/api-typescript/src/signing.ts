// HMAC-SHA256 by the platform's own cryptography.

import { UsageError } from "./errors.js";

const PREFIX = "whsec_";

export const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;

/** The key that the header `X-Service-Signature` is made with: the secret's text. */
export function plainKey(secret: string): Uint8Array<ArrayBuffer> {
  if (!secret.startsWith(PREFIX) || secret === PREFIX) throw new UsageError("A webhook secret begins with whsec_.");
  return bytesOf(secret);
}

/** The key that `webhook-signature` is made with: the bytes that the secret writes in base64. */
export function standardKey(secret: string): Uint8Array<ArrayBuffer> {
  plainKey(secret);
  try {
    return Uint8Array.from(atob(secret.slice(PREFIX.length)), (letter) => letter.charCodeAt(0));
  } catch {
    throw new UsageError("A webhook secret is base64 after whsec_.");
  }
}

/** The HMAC of a text and the body behind it. */
export async function digest(key: Uint8Array<ArrayBuffer>, text: string, body: Uint8Array): Promise<Uint8Array> {
  const before = bytesOf(text);
  const signed = new Uint8Array(before.length + body.length);
  signed.set(before);
  signed.set(body, before.length);
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, signed));
}

export const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

/** Whether two texts are equal, in a time that does not say where they differ. */
export function isEqual(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}
