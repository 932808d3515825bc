// Makes every call of the suite and prints what came of it. Arguments: the folder of the suite, the server's address.
import { readFile } from "node:fs/promises";
import { ApiError, Florin, FlorinError, UsageError, testing, webhooks } from "@florin/client";

const [folder, server] = process.argv.slice(2);
const read = async (name) => JSON.parse(await readFile(`${folder}/${name}.json`, "utf8"));
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

async function call(told, number) {
  const florin = new Florin(told.url ?? `${server}/s${number}`, told.api_key ?? "sk_test_conformance", {
    timeout: told.timeout ?? 5,
    retries: told.retries ?? 2,
    wait: 0.01,
  });
  const [resource, name] = told.call.split(".").map(camel);
  const given = [...(told.ids ?? [])];
  if (told.body ?? told.args) given.push(told.body ?? told.args);
  if (told.key !== undefined) given.push({ idempotencyKey: told.key });
  const answer = florin[resource][name](...given);
  if (told.page) return answer.page();
  if (!told.each) return answer;
  const found = [];
  for await (const each of answer) {
    found.push(each);
    if (found.length === told.take) break;
  }
  return found;
}

async function verify(told) {
  const options = "livemode" in told ? { livemode: told.livemode } : {};
  return (await webhooks.construct(told.body, told.headers, told.secrets, { now: told.now, ...options })).id;
}

async function outcome(work) {
  try {
    const result = await work();
    return { result: result instanceof Uint8Array ? new TextDecoder().decode(result) : result };
  } catch (error) {
    if (error instanceof ApiError) {
      const { status, type, code, param, refundable } = error;
      const others = { required_scope: error.requiredScope, request_id: error.requestId, retry_after: error.retryAfter, idempotency_key: error.idempotencyKey };
      return { error: { class: "ApiError", status, type, code, param, refundable, ...others } };
    }
    if (error instanceof UsageError) return { error: { class: "usage" } };
    if (error instanceof FlorinError) return { error: { class: error.name } };
    throw error;
  }
}

const scenarios = [];
for (const [number, each] of (await read("scenarios")).entries()) scenarios.push(await outcome(() => call(each, number)));
const signatures = [];
for (const each of await read("signatures")) signatures.push(await outcome(() => verify(each)));
const signed = [];
for (const told of await read("signed")) {
  const options = "event_id" in told ? { eventId: told.event_id } : {};
  signed.push(await testing.sign(told.body, told.secret, { now: told.now, ...options }));
}
console.log(JSON.stringify({ scenarios, signatures, signed }));
process.exit(0);
