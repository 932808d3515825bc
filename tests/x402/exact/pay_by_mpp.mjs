// Buys a page with npm mppx: node pay_by_mpp.mjs <url>, the payer's key in PAYER_KEY. PROTOCOL=x402 hides what a 402 asks by MPP, so that
// the same client pays by x402. Prints the page, and the receipt of MPP if there is one.

import { Receipt } from "mppx";
import { Mppx } from "mppx/client";
import { assets, charge } from "mppx/evm/client";
import { privateKeyToAccount } from "viem/accounts";

const account = privateKeyToAccount(process.env.PAYER_KEY);
const method = charge({ account, currencies: [assets.base.USDC], maxAmount: "1" });

async function hidden(...asked) {
  const answer = await fetch(...asked);
  const headers = new Headers(answer.headers);
  headers.delete("WWW-Authenticate");
  return new Response(answer.body, { status: answer.status, headers });
}

const own = process.env.PROTOCOL === "x402" ? hidden : fetch;
const client = Mppx.create({ methods: [method], fetch: own, polyfill: false });
const answer = await client.fetch(process.argv[2]);
const receipt = answer.headers.has("Payment-Receipt") ? Receipt.fromResponse(answer) : null;
console.log(JSON.stringify({ status: answer.status, page: await answer.text(), receipt }));
