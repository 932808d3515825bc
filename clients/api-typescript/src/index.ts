// Client of Florin's API: stablecoin checkouts, refunds and verified webhooks.

export { Florin, type Options } from "./client.js";
export { ApiError, FlorinError, NoAnswerError, OtherModeError, SignatureError, UsageError } from "./errors.js";
export { type Pages } from "./pages.js";
export * as testing from "./testing.js";
export type * as types from "./types.js";
export * as webhooks from "./webhooks.js";
