// The receipt: printing, and times where their reader is.
import { showLocalTimes } from "./shared.js";

// A withdrawn receipt is not printed.
document.getElementById("print")?.addEventListener("click", () => print());
showLocalTimes();
