// A program of a shop, as the compiler reads it with the types that the package ships. Each `@ts-expect-error` is a mistake that it must find.
import { ApiError, Florin, FlorinError, NoAnswerError, testing, webhooks, type Options, type types } from "@florin/client";

const options: Options = { timeout: 10, retries: 1, fetch: (input, init) => fetch(input, init) };
export const florin = new Florin("https://pay.example.com", "sk_test_1", options);

export async function sell(order: string): Promise<string> {
  const checkout: types.Checkout = await florin.checkouts.create({ amount: "25.00", currency: "USD", order_ref: order });
  return checkout.checkout_url;
}

export async function open(): Promise<string[]> {
  const found: string[] = [];
  for await (const each of florin.checkouts.list({ status: "completed", limit: 50 })) found.push(each.id);
  return found;
}

export async function hook(body: Uint8Array, headers: Headers): Promise<string> {
  const event = await webhooks.construct(body, headers, ["whsec_"], { livemode: null });
  return event.checkout_id;
}

export function reason(error: unknown): string | null {
  if (error instanceof ApiError) return error.requiredScope ?? error.code;
  if (error instanceof NoAnswerError) return error.idempotencyKey;
  return error instanceof FlorinError ? error.message : null;
}

export const signed: Promise<Record<string, string>> = testing.sign("{}", "whsec_", { now: 1 });

export async function mistakes(): Promise<void> {
  // @ts-expect-error an amount is text
  await florin.checkouts.create({ amount: 25, currency: "USD" });
  // @ts-expect-error there is no such field
  await florin.checkouts.create({ amount: "25.00", currency: "USD", orderRef: "1" });
  // @ts-expect-error there is no such status
  florin.checkouts.list({ status: "paid" });
  // @ts-expect-error an id is missing
  await florin.checkouts.get();
  // @ts-expect-error there is no such option
  new Florin("https://pay.example.com", "sk_test_1", { proxy: "http://proxy.example:3128" });
}
