// Buys a page with a published npm client: node pay.mjs <package> <url> [<network> <asset>], the payer's key in
// PAYER_KEY, an asset that it does not know by itself allowed. With a Solana node's address in SOLANA_RPC_URL it pays on
// Solana. With SCHEME=upto it signs maximums; with a node's address in RPC_URL also the token's own permit, if that is needed. Prints
// the page.

const [, , name, url, network, asset] = process.argv;
const key = process.env.PAYER_KEY;
const rpcUrl = process.env.SOLANA_RPC_URL;

async function firstVersion() {
  const { createSigner, wrapFetchWithPayment } = await import(name);
  const signer = await createSigner(rpcUrl ? "solana" : "base", key);
  return wrapFetchWithPayment(fetch, signer, undefined, undefined, { svmConfig: { rpcUrl } });
}

async function solana() {
  const { ExactSvmScheme } = await import("@x402/svm");
  const { createKeyPairSignerFromBytes, getBase58Encoder } = await import("@solana/kit");
  const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(key));
  return ["solana:*", new ExactSvmScheme(signer, { rpcUrl })];
}

async function evm() {
  const { ExactEvmScheme } = await import("@x402/evm");
  const { UptoEvmScheme } = await import("@x402/evm/upto/client");
  const { privateKeyToAccount } = await import("viem/accounts");
  const Scheme = process.env.SCHEME === "upto" ? UptoEvmScheme : ExactEvmScheme;
  const options = process.env.RPC_URL ? { rpcUrl: process.env.RPC_URL } : undefined;
  return ["eip155:*", new Scheme(privateKeyToAccount(key), options)];
}

async function payingFetch() {
  if (name === "x402-fetch") return firstVersion();
  const { wrapFetchWithPayment, x402Client } = await import(name);
  const client = new x402Client().register(...(await (rpcUrl ? solana() : evm())));
  if (asset) client.setSpendControls({ allowedAssets: [{ network, asset }] });
  return wrapFetchWithPayment(fetch, client);
}

const answer = await (await payingFetch())(url);
if (answer.status !== 200) {
  console.error(answer.status, await answer.text());
  process.exit(1);
}
console.log(await answer.text());
