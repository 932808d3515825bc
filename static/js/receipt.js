// The receipt: printing, and times where their reader is.
import { showLocalTimes } from "./shared.js";

document.getElementById("print").addEventListener("click", () => print());
showLocalTimes();
