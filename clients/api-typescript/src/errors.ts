// What calls and verifications throw.

/**
 * Base of all errors of this package. `idempotencyKey` is what the failed request was sent with, null without one: where its outcome is
 * unknown, give the same to make the same call again.
 */
export class FlorinError extends Error {
  idempotencyKey: string | null = null;

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A wrong argument of your own program, found before anything is sent. */
export class UsageError extends FlorinError {}

/** No complete, readable answer came, so it is unknown whether the server acted. */
export class NoAnswerError extends FlorinError {}

/** A webhook is not signed by any of the secrets, or too long ago. Answer 400. */
export class SignatureError extends FlorinError {}

/** A webhook is genuine, and of the other mode: test or live. Answer 2xx, and do nothing else. */
export class OtherModeError extends FlorinError {}

/**
 * The API refused. Branch on `code`; `param` names the field, `requestId` is for questions to the operator. `requiredScope` is what
 * the key lacks, `refundable` what a refund could be, `retryAfter` the seconds to wait. All of them are null where they do not
 * apply, and `code` too where the answer came from something before Florin, such as a proxy.
 */
export class ApiError extends FlorinError {
  readonly status: number;
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
  readonly requiredScope: string | null;
  readonly refundable: string | null;
  readonly requestId: string | null;
  readonly retryAfter: number | null;

  constructor(status: number, headers: Headers, body: string) {
    const told = toldBy(body);
    const text = (name: string) => (typeof told[name] === "string" ? (told[name] as string) : null);
    const code = text("code");
    super(`${text("message") ?? "The answer has no reason."} (${status}${code ? ` ${code}` : ""})`);
    this.status = status;
    this.type = text("type");
    this.code = code;
    this.param = text("param");
    this.requiredScope = text("required_scope");
    this.refundable = text("refundable");
    this.requestId = headers.get("x-request-id");
    const wait = headers.get("retry-after") ?? "";
    this.retryAfter = /^[0-9]+$/.test(wait) ? Number(wait) : null;
  }
}

function toldBy(body: string): Record<string, unknown> {
  try {
    const error: unknown = JSON.parse(body)?.error;
    return typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
