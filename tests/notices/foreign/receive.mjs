// A browser's part of web push, by libraries that are not ours: decrypts by http_ece, checks the signature by jose.
// Reads {body, auth, privateKey, authorization, audience} from standard input, all bytes in base64url.
import { createECDH } from "node:crypto";
import { readFileSync } from "node:fs";
import ece from "http_ece";
import { importJWK, jwtVerify } from "jose";

const told = JSON.parse(readFileSync(0, "utf8"));
const bytes = (text) => Buffer.from(text, "base64url");

const browser = createECDH("prime256v1");
browser.setPrivateKey(bytes(told.privateKey));
const text = ece.decrypt(bytes(told.body), { version: "aes128gcm", privateKey: browser, authSecret: told.auth });

const [, token, key] = /^vapid t=([^,]+), k=([\w-]+)$/.exec(told.authorization);
const point = bytes(key);
const jwk = {
  kty: "EC",
  crv: "P-256",
  x: point.subarray(1, 33).toString("base64url"),
  y: point.subarray(33).toString("base64url"),
};
const options = { audience: told.audience, algorithms: ["ES256"], currentDate: new Date(told.at * 1000) };
const { payload } = await jwtVerify(token, await importJWK(jwk, "ES256"), options);
console.log(JSON.stringify({ text: text.toString("utf8"), claims: payload, key }));
