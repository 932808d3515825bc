// Judges signed receipts with what others publish: npm jose, and @x402/extensions. The input is a JSON object: a JWK Set `jwks`, and
// `tokens`. The output is a JSON list with, for each token, the claims that each of both found in it; null where it refuses the token.
// Without `jwks` the second one finds the key by itself, by the did:web of the token's header, and the first one is not asked.
import { readFileSync } from "node:fs";
import { verifyReceiptSignatureJWS } from "@x402/extensions/offer-receipt";
import { compactVerify, createLocalJWKSet, decodeProtectedHeader } from "jose";

const { jwks, tokens } = JSON.parse(readFileSync(0, "utf8"));

async function byJose(token) {
  const { payload } = await compactVerify(token, createLocalJWKSet(jwks), { algorithms: ["EdDSA"] });
  return JSON.parse(new TextDecoder().decode(payload));
}

async function byX402(token) {
  const key = jwks?.keys.find((one) => one.kid === decodeProtectedHeader(token).kid);
  if (jwks && !key) throw new Error("unknown key");
  return verifyReceiptSignatureJWS({ format: "jws", signature: token }, key);
}

const judged = (judge, token) => judge(token).catch(() => null);
const judges = jwks ? [byJose, byX402] : [byX402];
const found = [];
for (const token of tokens) found.push(await Promise.all(judges.map((judge) => judged(judge, token))));
process.stdout.write(JSON.stringify(found));
