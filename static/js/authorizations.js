// Has the paying wallet sign each payment of a batch, and gives the server each signature as it comes.
import { findWallets } from "./discovery.js";
import { SigningError, reasonOf, showButtons, signTypedData, tell } from "./signing.js";

const area = document.getElementById("wallets");
const form = document.getElementById("signature");
const left = JSON.parse(document.getElementById("authorizations").textContent);

async function give(payout, signature) {
  form.elements.payout.value = payout;
  form.elements.signature.value = signature;
  const answer = await fetch(form.action, { method: "POST", body: new FormData(form) }).catch(() => null);
  if (!answer || answer.status >= 500) throw new SigningError("unsure");
  if (!answer.ok) throw new SigningError("refused");
}

async function sign(provider) {
  tell(area, "confirm", true);
  try {
    while (left.length) {
      const [{ payout, typed }] = left;
      const { from, signature } = await signTypedData(provider, area.dataset, typed);
      if (from.toLowerCase() !== area.dataset.wallet.toLowerCase()) throw new SigningError("account");
      await give(payout, signature);
      left.shift();
    }
    tell(area, "sent", true);
    location.reload();
  } catch (error) {
    tell(area, reasonOf(error), false);
  }
}

// Called for each wallet that is found, for some before `findWallets` has come back.
function offer() {
  showButtons(area, [...findWallets("evm", offer).values()], sign);
}

offer();
