// Loads a file of Safe's transaction builder, as its web app does, and executes it with Safe's own kit: all owners but the last
// sign, and the last one sends it. Reads from the environment RPC_URL, SAFE, OWNER_KEYS and CONTRACTS; prints what was executed.
import { readFileSync } from "node:fs";
import kit from "@safe-global/protocol-kit";
import { createPublicClient, encodeFunctionData, http } from "viem";

const { RPC_URL, SAFE, OWNER_KEYS, CONTRACTS } = process.env;
// The kit's CommonJS has its class one level deeper.
const Safe = kit.default ?? kit;
const file = JSON.parse(readFileSync(0, "utf8"));

// A transaction of the file has a method and the texts of its inputs, or ready data.
const encoded = ({ to, value, data, contractMethod: method, contractInputsValues: values }) => ({
  to,
  value,
  data:
    data ??
    encodeFunctionData({
      abi: [{ type: "function", stateMutability: "nonpayable", outputs: [], ...method }],
      functionName: method.name,
      args: method.inputs.map(({ name }) => values[name]),
    }),
});

const open = (signer) =>
  Safe.init({
    provider: RPC_URL,
    signer,
    safeAddress: SAFE,
    contractNetworks: { [file.chainId]: JSON.parse(CONTRACTS) },
  });

const kits = await Promise.all(OWNER_KEYS.split(",").map(open));
const last = kits.pop();
let transaction = await last.createTransaction({ transactions: file.transactions.map(encoded) });
for (const owner of kits) transaction = await owner.signTransaction(transaction);
const { hash } = await last.executeTransaction(transaction);
const { status } = await createPublicClient({ transport: http(RPC_URL) }).waitForTransactionReceipt({ hash });
console.log(JSON.stringify({ hash, status, to: transaction.data.to, nonce: transaction.data.nonce }));
