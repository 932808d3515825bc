// Makes calls that get no answer, and prints how long the client would have paused before each repeat, in seconds. Argument: how many calls.
import { Florin, NoAnswerError } from "@florin/client";

let paused = [];
globalThis.setTimeout = (go, milliseconds) => {
  paused.push(milliseconds / 1000);
  queueMicrotask(go);
};
const fetch = async () => {
  throw new TypeError("no answer");
};
const florin = new Florin("http://127.0.0.1:1", "sk_test_conformance", { fetch });
const found = [];
for (let number = 0; number < Number(process.argv[2]); number += 1) {
  paused = [];
  try {
    await florin.key.get();
  } catch (error) {
    if (error instanceof NoAnswerError) found.push(paused);
  }
}
console.log(JSON.stringify(found));
