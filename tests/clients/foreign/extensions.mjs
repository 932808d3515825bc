// Buys a page with @x402/fetch under a payment identifier, and sends the same payment again: node extensions.mjs <url>, the payer's
// key in PAYER_KEY. Prints what both requests got, and what @x402/extensions finds in the offer, the payment and the receipt.
import { ExactEvmScheme } from "@x402/evm";
import { extractDiscoveryInfo } from "@x402/extensions/bazaar";
import {
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  verifyReceiptMatchesOffer,
} from "@x402/extensions/offer-receipt";
import {
  appendPaymentIdentifierToExtensions,
  extractPaymentIdentifier,
} from "@x402/extensions/payment-identifier";
import { x402Client, x402HTTPClient } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";

const url = process.argv[2];
const account = privateKeyToAccount(process.env.PAYER_KEY);
const client = new x402Client().register("eip155:*", new ExactEvmScheme(account));
client.onBeforePaymentCreation(async ({ paymentRequired }) => {
  appendPaymentIdentifierToExtensions(paymentRequired.extensions);
});
const http = new x402HTTPClient(client);

const asked = await fetch(url);
const required = http.getPaymentRequiredResponse((name) => asked.headers.get(name));
const payment = await client.createPaymentPayload(required);
const headers = http.encodePaymentSignatureHeader(payment);
const answers = [];
for (let time = 0; time < 2; time += 1) {
  const answer = await fetch(url, { headers });
  answers.push({
    status: answer.status,
    body: await answer.text(),
    receipt: extractReceiptFromResponse(answer),
  });
}

const [offer] = decodeSignedOffers(extractOffersFromPaymentRequired(required));
const listed = extractDiscoveryInfo(payment, payment.accepted);
process.stdout.write(
  JSON.stringify({
    answers,
    hasId: extractPaymentIdentifier(payment) !== null,
    isOfAccepted: findAcceptsObjectFromSignedOffer(offer, required.accepts) === required.accepts[0],
    isOfOffer: verifyReceiptMatchesOffer(answers[0].receipt, offer, [account.address]),
    listed: listed && { input: listed.discoveryInfo.input, name: listed.serviceName, tags: listed.tags },
  }),
);
