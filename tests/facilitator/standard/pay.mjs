// Buys a page with a published npm client: node pay.mjs <package> <url>, the payer's key in PAYER_KEY. Prints the page.
import { privateKeyToAccount } from "viem/accounts";

const [, , name, url] = process.argv;
const account = privateKeyToAccount(process.env.PAYER_KEY);

async function payingFetch() {
  const { wrapFetchWithPayment, x402Client } = await import(name);
  if (name === "x402-fetch") {
    const { createSigner } = await import(name);
    return wrapFetchWithPayment(fetch, await createSigner("base", process.env.PAYER_KEY));
  }
  const { ExactEvmScheme } = await import("@x402/evm");
  const client = new x402Client().register("eip155:*", new ExactEvmScheme(account));
  return wrapFetchWithPayment(fetch, client);
}

const answer = await (await payingFetch())(url);
if (answer.status !== 200) {
  console.error(answer.status, await answer.text());
  process.exit(1);
}
console.log(await answer.text());
