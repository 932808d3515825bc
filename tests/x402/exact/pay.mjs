// Buys a page with a published npm client: node pay.mjs <package> <url> [<network> <asset>], the payer's key in
// PAYER_KEY, an asset that it does not know by itself allowed. With a Solana node's address in SOLANA_RPC_URL it pays on
// Solana. With SCHEME=upto it signs maximums; with a node's address in RPC_URL also the token's own permit, if that is needed.
// CHAIN is the name of an EVM chain for the first version's client, base unless given. With FIRST_VERSION a client of the second
// version speaks the first one, too. WALLET is a contract that the key's owner signs for, FACTORY and FACTORY_DATA what deploys it
// (ERC-6492). Prints the page.

const [, , name, url, network, asset] = process.argv;
const key = process.env.PAYER_KEY;
const rpcUrl = process.env.SOLANA_RPC_URL;
const speaksFirst = Boolean(process.env.FIRST_VERSION);

async function firstVersion() {
  const { createSigner, wrapFetchWithPayment } = await import(name);
  const signer = await createSigner(rpcUrl ? "solana" : process.env.CHAIN || "base", key);
  return wrapFetchWithPayment(fetch, signer, undefined, undefined, { svmConfig: { rpcUrl } });
}

async function solana(client) {
  const { ExactSvmScheme } = await import("@x402/svm");
  const { createKeyPairSignerFromBytes, getBase58Encoder } = await import("@solana/kit");
  const signer = await createKeyPairSignerFromBytes(getBase58Encoder().encode(key));
  client.register("solana:*", new ExactSvmScheme(signer, { rpcUrl }));
  if (!speaksFirst) return;
  const { ExactSvmSchemeV1 } = await import("@x402/svm/v1");
  client.registerV1("solana", new ExactSvmSchemeV1(signer, { rpcUrl }));
}

// Signs for a contract: longer than a key's signature, and with what deploys the contract around it, if it is not there yet.
async function forWallet(account) {
  const { WALLET, FACTORY, FACTORY_DATA } = process.env;
  if (!WALLET) return account;
  const { encodeAbiParameters } = await import("viem");
  const kinds = [{ type: "address" }, { type: "bytes" }, { type: "bytes" }];
  const signTypedData = async (message) => {
    const signed = `${await account.signTypedData(message)}00`;
    return FACTORY ? `${encodeAbiParameters(kinds, [FACTORY, FACTORY_DATA, signed])}${"6492".repeat(16)}` : signed;
  };
  return { address: WALLET, signTypedData };
}

async function evm(client) {
  const { ExactEvmScheme } = await import("@x402/evm");
  const { UptoEvmScheme } = await import("@x402/evm/upto/client");
  const { privateKeyToAccount } = await import("viem/accounts");
  const signer = await forWallet(privateKeyToAccount(key));
  const Scheme = process.env.SCHEME === "upto" ? UptoEvmScheme : ExactEvmScheme;
  const options = process.env.RPC_URL ? { rpcUrl: process.env.RPC_URL } : undefined;
  client.register("eip155:*", new Scheme(signer, options));
  if (!speaksFirst) return;
  const { ExactEvmSchemeV1, NETWORKS } = await import("@x402/evm/v1");
  for (const named of NETWORKS) client.registerV1(named, new ExactEvmSchemeV1(signer));
}

async function payingFetch() {
  if (name === "x402-fetch") return firstVersion();
  const { wrapFetchWithPayment, x402Client } = await import(name);
  const client = new x402Client();
  await (rpcUrl ? solana(client) : evm(client));
  if (asset) client.setSpendControls({ allowedAssets: [{ network, asset }] });
  return wrapFetchWithPayment(fetch, client);
}

const answer = await (await payingFetch())(url);
if (answer.status !== 200) {
  console.error(answer.status, await answer.text());
  process.exit(1);
}
console.log(await answer.text());
