// Reads signed offers and a receipt as clients of @x402/extensions do. The input is a JSON object: `accepts` and `extensions` of a
// 402, the answer `settled`, the `payer`, and the `age` in seconds that a receipt may have. Prints the requirements that each offer is
// of, and whether the receipt is of each offer.
import { readFileSync } from "node:fs";
import {
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  findAcceptsObjectFromSignedOffer,
  verifyReceiptMatchesOffer,
} from "@x402/extensions/offer-receipt";

const { accepts, extensions, settled, payer, age } = JSON.parse(readFileSync(0, "utf8"));
const offers = decodeSignedOffers(extractOffersFromPaymentRequired({ accepts, extensions }));
const { receipt } = settled.extensions["offer-receipt"].info;
process.stdout.write(
  JSON.stringify({
    accepts: offers.map((offer) => findAcceptsObjectFromSignedOffer(offer, accepts)),
    matches: offers.map((offer) => verifyReceiptMatchesOffer(receipt, offer, [payer], age)),
  }),
);
