// Settles one payment twice with npm x402's `useFacilitator`, as x402-mcp does: it withholds what a tool answered only if this throws.
// The input is a JSON object: `url`, `headers` of a settle, `payload` and `requirements`. Prints what became of each.
import { readFileSync } from "node:fs";
import { useFacilitator } from "x402/verify";

const { url, headers, payload, requirements } = JSON.parse(readFileSync(0, "utf8"));
const createAuthHeaders = async () => ({ verify: headers, settle: headers, supported: headers });
const { settle } = useFacilitator({ url, createAuthHeaders });
const found = [];
for (let time = 0; time < 2; time += 1) {
  try {
    found.push((await settle(payload, requirements)).success);
  } catch {
    found.push("thrown");
  }
}
process.stdout.write(JSON.stringify(found));
