// Sells a page with an npm middleware for Express (the first argument: @x402/express or x402-express), until its input ends.
//
// FACILITATOR_URL, FACILITATOR_KEY, PAY_TO and NETWORK (CAIP-2, or version 1's name) are the merchant's. Prints its port.
// AMOUNT is a price in base units of ASSET, as it is, for a seller who configures a wrong one.
// SCHEME is exact unless given; of upto CHARGED is what is settled, in base units. SPONSORED declares eip2612GasSponsoring.
// `GET /begun` tells how many began to be served, `POST /release` lets them go on.

import express from "express";

const { FACILITATOR_URL, FACILITATOR_KEY, PAY_TO, NETWORK, AMOUNT, ASSET, CHARGED, SPONSORED } = process.env;
const SCHEME = process.env.SCHEME || "exact";
const key = { Authorization: `Bearer ${FACILITATOR_KEY}` };
const createAuthHeaders = async () => ({ verify: key, settle: key, supported: key });
const facilitator = { url: FACILITATOR_URL, createAuthHeaders };

const domain = { name: "USD Coin", version: "2" };
const firstPrice = AMOUNT ? { amount: AMOUNT, asset: { address: ASSET, decimals: 6, eip712: domain } } : "$0.01";
const secondPrice = AMOUNT ? { amount: AMOUNT, asset: ASSET, extra: domain } : "$0.01";

async function first() {
  const { paymentMiddleware } = await import("x402-express");
  return paymentMiddleware(PAY_TO, { "GET /report": { price: firstPrice, network: NETWORK } }, facilitator);
}

async function second() {
  const { paymentMiddleware, x402ResourceServer } = await import("@x402/express");
  const { HTTPFacilitatorClient } = await import("@x402/core/server");
  const { ExactEvmScheme } = await import("@x402/evm/exact/server");
  const { ExactSvmScheme } = await import("@x402/svm/exact/server");
  const { UptoEvmScheme } = await import("@x402/evm/upto/server");
  const { declareEip2612GasSponsoringExtension } = await import("@x402/extensions");
  const onEvm = SCHEME === "upto" ? new UptoEvmScheme() : new ExactEvmScheme();
  const scheme = NETWORK.startsWith("solana") ? new ExactSvmScheme() : onEvm;
  const server = new x402ResourceServer(new HTTPFacilitatorClient(facilitator)).register(NETWORK, scheme);
  const accepts = { scheme: SCHEME, price: secondPrice, network: NETWORK, payTo: PAY_TO };
  const extensions = SPONSORED ? declareEip2612GasSponsoringExtension() : undefined;
  return paymentMiddleware({ "GET /report": { accepts, description: "A report", extensions } }, server);
}

let begun = 0;
let release;
const released = new Promise((resolve) => { release = resolve; });

const app = express();
app.get("/begun", (_, answer) => answer.json(begun));
app.post("/release", (_, answer) => { release(); answer.json(null); });
app.use(await (process.argv[2] === "x402-express" ? first() : second()));
app.get("/report", async (_, answer) => {
  begun += 1;
  await released;
  if (CHARGED) {
    const { setSettlementOverrides } = await import("@x402/express");
    setSettlementOverrides(answer, { amount: CHARGED });
  }
  answer.json({ report: "seven" });
});

const server = app.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
