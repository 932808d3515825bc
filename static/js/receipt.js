// The receipt: printing, times where their reader is, and a fresh page once the payment is in doubt, reversed or restored.
import { showLocalTimes } from "./shared.js";
import { watchStatus } from "./status.js";

const paper = document.getElementById("paper");

// A withdrawn receipt is not printed.
document.getElementById("print")?.addEventListener("click", () => print());
showLocalTimes();
watchStatus({
  address: () => paper.dataset.statusUrl + location.search,
  streamAddress: () => paper.dataset.streamUrl,
  version: () => paper.dataset.version,
  isSettled: () => true,
  onChange: () => location.reload(),
}).start();
