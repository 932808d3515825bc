// Sells and refunds at a running Florin in test mode, and prints what came of it. Arguments: its address, a test key, where webhooks go.
// With a file as its only argument it verifies the webhook in it: `body`, `headers` and `secret`.
import { readFile } from "node:fs/promises";
import { ApiError, Florin, webhooks } from "@florin/client";

async function sold(url, key, hook) {
  const florin = new Florin(url, key);
  const order = { amount: "25.00", currency: "USD", order_ref: "live-1", webhook_url: hook };
  const first = await florin.checkouts.create(order);
  const again = await florin.checkouts.create(order);
  const others = [];
  for (let number = 0; number < 2; number += 1) others.push((await florin.checkouts.create({ amount: "1.00", currency: "USD" })).id);
  await florin.checkouts.advance(first.id, { steps: 1 });
  const refund = await florin.refunds.create({ source: { checkout: first.id }, amount: "5.00", reference: "live-r-1" });
  let refused;
  try {
    await florin.checkouts.get("chk_test_none");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    refused = [error.status, error.code, error.requestId !== null];
  }
  const listed = [];
  for await (const each of florin.checkouts.list({ limit: 2 })) listed.push(each.id);
  return {
    same: first.id === again.id,
    listed: listed.join() === [...others.reverse(), first.id].join(),
    status: (await florin.checkouts.get(first.id)).status,
    refund: [refund.status, refund.amount],
    refused,
    checkout: first.id,
  };
}

async function verified({ body, headers, secret }) {
  return (await webhooks.construct(body, headers, secret, { livemode: false })).checkout_id;
}

const given = process.argv.slice(2);
const told = given.length === 1 ? await verified(JSON.parse(await readFile(given[0], "utf8"))) : JSON.stringify(await sold(...given));
process.stdout.write(told);
