// Shapes of requests and answers. Written by script/clients.

export type Act = "credit" | "accept_late" | "refunded" | "dismiss";

/** What disrupts your payments now, in the words of your dashboard. */
export type ActiveDisruption = {
  kind: ActiveDisruptionKind;
  chain: string | null;
  endpoint_id: string | null;
  since: string | null;
  block: number | null;
  heading: string;
  meaning: string;
  doing: string;
  advice: string;
  orders_at_risk: number;
};

export type ActiveDisruptionKind = "halted" | "reversed" | "down" | "endpoint_failing" | "endpoint_off" | "sources_disagree" | "gas_low" | "delayed";

export type ActiveDisruptionList = {
  data: Array<ActiveDisruption>;
};

/** Body of `POST /test/checkouts/{id}/advance`. */
export type Advance = {
  steps?: number | null;
};

/** One POST, with what your server answered. */
export type AnsweredAttempt = {
  started_at: string;
  duration_ms: number;
  status_code: number | null;
  error: string | null;
  response_headers: Record<string, string>;
  response_body: string;
};

/** What the payer signs, with its ticket; once it is signed, the transaction that was sent. */
export type AuthorizedPayment = {
  typed_data?: Record<string, unknown>;
  transaction?: string;
  ticket?: string;
  tx_hash?: string;
};

/** What a wallet held when its chain was last asked, with six decimals. */
export type Balances = {
  USDC: string | null;
  USDT: string | null;
};

/** A supported chain. */
export type Chain = {
  chain: string;
  name: string;
  chainId: number | null;
  tokens: Array<string>;
  tokenContracts: Record<string, TokenContract>;
  exactAmountRequired: boolean;
  estimatedConfirmSec: number;
  confirmations: number;
  gasTier: GasTier;
  priority: number;
  badge: string | null;
  explorerTx: string | null;
  status: ChainStatus;
  reason: ChainReason | null;
  disruption: ChainDisruption | null;
};

/** What disrupts a chain, in the words that buyers, the status page and the dashboard have. */
export type ChainDisruption = {
  kind: ChainDisruptionKind;
  since: string | null;
  block: number | null;
  heading: string;
  meaning: string;
  doing: string;
  advice: string;
};

export type ChainDisruptionKind = "halted" | "down" | "sources_disagree" | "delayed";

/** The sums of a token on a chain. */
export type ChainFlows = {
  chain: string;
  token: string;
  inflow: string;
  outflow: string;
  net: string;
  unconfirmed: string;
  count: number;
};

export type ChainList = {
  data: Array<Chain>;
};

/** A chain a checkout can be paid on. */
export type ChainOption = {
  chain: string;
  name: string;
  tokens: Array<string>;
  estimatedConfirmSec: number;
  gasTier: GasTier;
  priority: number;
  badge: string | null;
  exactAmountRequired: boolean;
  address: string | null;
  payAmount: string | null;
  paymentUri: string | null;
  due?: Record<string, string>;
  gasFree?: boolean;
};

export type ChainReason = "halted" | "unreachable";

export type ChainStatus = "ok" | "delayed" | "down";

/** The transfer that an event is about, one of the checkout's `transfers`. */
export type ChangedTransfer = {
  chain: string;
  tx_hash: string;
  position: number;
};

/** A checkout. */
export type Checkout = {
  id: string;
  status: CheckoutStatus;
  amount: string;
  currency: string;
  quote?: Quote;
  dues?: Record<string, Due>;
  description: string | null;
  metadata: Record<string, unknown>;
  checkout_url: string;
  references: References;
  payment: Payment | null;
  expires_at: string;
  created_at: string;
  livemode: boolean;
  amount_received: string;
  amount_remaining: string;
  amount_refunded: string;
  exception: CheckoutException | null;
  paid_at: string | null;
  cancelled: boolean;
  replaces: string | null;
  replaced_by: string | null;
  transfers: Array<CreditedTransfer>;
  escrow: boolean;
  escrow_status: EscrowStatus | null;
  escrow_released_by: EscrowReleasedBy | null;
};

/** What is sent about a checkout. */
export type CheckoutEvent = {
  id: string;
  type: string;
  created_at: string;
  api_version: string;
  livemode: boolean;
  checkout_id: string;
  sequence: number;
  data: Checkout;
};

export type CheckoutException = "underpaid" | "overpaid" | "reversed";

export type CheckoutList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<Checkout>;
};

export type CheckoutStatus = "pending" | "processing" | "underpaid" | "completed" | "expired";

/** What is sent about a transfer of a checkout. */
export type CheckoutTransferEvent = {
  id: string;
  type: string;
  created_at: string;
  api_version: string;
  livemode: boolean;
  checkout_id: string;
  sequence: number;
  data: ConfirmedCheckout;
};

export type Code = "email_unusable";

/** A checkout with the transfer that became final. */
export type ConfirmedCheckout = {
  id: string;
  status: "pending" | "processing" | "underpaid" | "completed" | "expired";
  amount: string;
  currency: string;
  quote?: Quote;
  dues?: Record<string, Due>;
  description: string | null;
  metadata: Record<string, unknown>;
  checkout_url: string;
  references: References;
  payment: Payment | null;
  expires_at: string;
  created_at: string;
  livemode: boolean;
  amount_received: string;
  amount_remaining: string;
  amount_refunded: string;
  exception: "" | "underpaid" | "overpaid" | "reversed" | null;
  paid_at: string | null;
  cancelled: boolean;
  replaces: string | null;
  replaced_by: string | null;
  transfers: Array<CreditedTransfer>;
  escrow: boolean;
  escrow_status: "held" | "released" | null;
  escrow_released_by: "member" | "api" | "external" | null;
  changed_transfer: ChangedTransfer;
};

/** A checkout with the chains it can be paid on. */
export type CreatedCheckout = {
  id: string;
  status: CheckoutStatus;
  amount: string;
  currency: string;
  quote?: Quote;
  dues?: Record<string, Due>;
  description: string | null;
  metadata: Record<string, unknown>;
  checkout_url: string;
  references: References;
  payment: Payment | null;
  expires_at: string;
  created_at: string;
  livemode: boolean;
  amount_received: string;
  amount_remaining: string;
  amount_refunded: string;
  exception: CheckoutException | null;
  paid_at: string | null;
  cancelled: boolean;
  replaces: string | null;
  replaced_by: string | null;
  transfers: Array<CreditedTransfer>;
  escrow: boolean;
  escrow_status: EscrowStatus | null;
  escrow_released_by: EscrowReleasedBy | null;
  available_chains: Array<ChainOption>;
  notices: Array<Notice>;
};

/** One on-chain transfer credited to a checkout. */
export type CreditedTransfer = {
  chain: string;
  token: string;
  amount: string;
  tx_hash: string;
  position: number;
  sender_address: string;
  confirmations: number;
  required_confirmations: number;
  status: TransferState;
  in_doubt: boolean;
  detected_at: string;
  confirmed_at: string | null;
};

export type Currency = "USD";

export type CurrencyList = {
  data: Array<PriceCurrency>;
};

/** The sums of a day (UTC). */
export type DayFlows = {
  day: string;
  inflow: string;
  outflow: string;
  net: string;
  unconfirmed: string;
  count: number;
};

/** What is left of a template. */
export type DeletedTemplate = {
  id: string;
  deleted: boolean;
};

/** One POST: when, for how long, and its result. */
export type DeliveryAttempt = {
  started_at: string;
  duration_ms: number;
  status_code: number | null;
  error: string | null;
};

export type DeliveryStatus = "pending" | "held" | "delivered" | "failed" | "cancelled";

export type Direction = "in" | "out";

/** What is sent about a disruption of your payments. `checkout_id` is empty. */
export type DisruptionEvent = {
  id: string;
  type: string;
  created_at: string;
  api_version: string;
  livemode: boolean;
  checkout_id: string;
  sequence: number;
  data: ActiveDisruption;
};

/** A price in a token that is not one USD, fixed when the checkout was created. What comes in it counts for its share of the price. */
export type Due = {
  amount: string;
  currency: string;
  rate: string;
  sources: Array<QuoteSource>;
  taken_at: string;
};

/** A disruption of your payments that is over. */
export type EndedDisruption = {
  kind: string;
  chain: string;
  since: string;
  until: string;
};

export type EndpointHealth = "healthy" | "failing" | "probation" | "disabled";

export type EscrowReleasedBy = "member" | "api" | "external";

export type EscrowStatus = "held" | "released";

/** What a webhook's body is, and an element of the event list. */
export type EventBody = {
  id: string;
  type: string;
  created_at: string;
  api_version: string;
  livemode: boolean;
  checkout_id: string;
  sequence: number;
  data: Record<string, unknown>;
};

export type EventList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<EventBody>;
};

/** A transaction on one chain. Recorded: the movements that are yours. From a node: all, yours first, at most 100. */
export type ExplainedTransaction = {
  chain: string;
  tx_hash: string;
  status: TransactionStatus;
  block_time: string | null;
  explorer_url: string | null;
  movements: Array<TransactionMovement>;
};

/** A place on the waitlist for card payments, as it was asked for first. */
export type FiatInterest = {
  id: string;
  email: string;
  company: string | null;
  country: string | null;
  monthly_volume: string | null;
  livemode: boolean;
  created_at: string;
};

export type GasTier = "low" | "medium" | "high";

/** The time whose changes a restore of the database may have lost. */
export type GatewayRestore = {
  lost_from: string;
  restored_at: string;
};

/** What is sent after a restore. `checkout_id` is empty. */
export type GatewayRestoredEvent = {
  id: string;
  type: string;
  created_at: string;
  api_version: string;
  livemode: boolean;
  checkout_id: string;
  sequence: number;
  data: GatewayRestore;
};

/** What watched wallets hold of a token, as each was last read. */
export type Held = {
  chain: string;
  token: string;
  amount: string;
};

/** How much is known of a wallet's past. */
export type History = {
  progress: number;
  since: string;
  error: string | null;
};

/** A checkout that a rule found, and why it was not credited. */
export type InboxCandidate = {
  id: string;
  order_ref: string | null;
  status: CheckoutStatus;
  amount: string;
  amount_remaining: string;
  why_not: string;
};

/** A checkout that the money names, belonged to, or probably is for. */
export type InboxCheckout = {
  id: string;
  order_ref: string | null;
  status: CheckoutStatus;
  amount: string;
  amount_remaining: string;
};

/** A person's decision. It takes effect half a minute later, and can be undone until then. */
export type InboxDecision = {
  act: Act;
  checkout_id: string | null;
  refund_tx: string | null;
  decided_at: string;
  takes_effect_at: string;
  took_effect_at: string | null;
};

/** What is sent about an inbox item. `checkout_id` is the item's id. */
export type InboxEvent = {
  id: string;
  type: string;
  created_at: string;
  api_version: string;
  livemode: boolean;
  checkout_id: string;
  sequence: number;
  data: InboxItem;
};

/** Money that no rule could credit, an alarm about a reversed payment, or a notice about a credit. */
export type InboxItem = {
  id: string;
  livemode: boolean;
  status: InboxStatus;
  reason: InboxReason;
  title: string;
  meaning: string;
  explanation: string | null;
  transfer: InboxTransfer;
  checkout: InboxCheckout | null;
  candidates: Array<InboxCandidate>;
  decision: InboxDecision | null;
  outcome: InboxOutcome | null;
  created_at: string;
  closed_at: string | null;
};

export type InboxList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<InboxItem>;
};

/** An inbox item about a movement. `GET /inbox/{item_id}` has more. */
export type InboxMention = {
  id: string;
  status: InboxStatus;
  reason: InboxReason;
  outcome: InboxOutcome | null;
};

export type InboxOutcome = "credited" | "accepted_late" | "refunded" | "dismissed" | "restored";

export type InboxReason = "late" | "late_outage" | "extra" | "wrong_network" | "wrong_token" | "dust" | "unmatched" | "ambiguous" | "reversed" | "rival";

export type InboxStatus = "open" | "credited" | "refunded" | "dismissed";

/** The money of an item, as its chain reports it. */
export type InboxTransfer = {
  id: string;
  chain: string;
  token: string;
  amount: string;
  tx_hash: string;
  position: number;
  sender_address: string;
  recipient_address: string;
  status: TransferState;
  labels: Array<string>;
  block_time: string;
  detected_at: string;
  confirmed_at: string | null;
  explorer_url: string | null;
};

export type Interval = "week" | "month" | "year";

/** An API key, without its secret. */
export type KeyBody = {
  id: string;
  name: string;
  mode: Mode;
  merchant: KeyMerchant;
  scopes: Array<Scope>;
  allowed_networks: Array<string>;
  expires_at: string | null;
  created_at: string;
};

/** The merchant of a key. */
export type KeyMerchant = {
  id: string;
  name: string;
};

export type LinkList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<PaymentLink>;
};

export type LinkStatus = "active" | "paused" | "archived";

/** Defaults that a link can be made from. */
export type LinkTemplate = {
  id: string;
  title: string;
  description: string | null;
  type: LinkType;
  amount: string | null;
  metadata: Record<string, unknown>;
  livemode: boolean;
  created_at: string;
};

export type LinkTemplateList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<LinkTemplate>;
};

export type LinkType = "invoice" | "donation" | "subscription" | "custom";

/** A network that machines could pay on. */
export type MissingWallet = {
  chain: string;
  page: string;
};

export type Mode = "live" | "test";

/** A token movement into or out of a watched wallet. */
export type Movement = {
  id: string;
  direction: Direction;
  chain: string;
  token: string;
  amount: string;
  tx_hash: string;
  position: number;
  counterparty_address: string;
  status: TransferState;
  block_time: string;
  confirmed_at: string | null;
};

export type MovementList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<Movement>;
};

/** What a refund is of: exactly one of these. */
export type NamedSource = {
  checkout?: string;
  x402_payment?: string;
  transfer?: NamedTransfer;
};

/** A transfer to you, by its transaction. */
export type NamedTransfer = {
  chain: string;
  tx_hash: string;
  position?: number;
};

/** Body of `POST /refunds/{id}/address`. */
export type NewAddress = {
  address: string;
  chain?: string | null;
  token?: string | null;
};

/** Body of `POST /checkouts`. */
export type NewCheckout = {
  amount: string;
  currency: Currency;
  description?: string | null;
  metadata?: Record<string, unknown> | null;
  customer_email?: string | null;
  redirect_url?: string | null;
  webhook_url?: string | null;
  expires_in?: number | null;
  customer_ref?: string | null;
  product_ref?: string | null;
  order_ref?: string | null;
  test_scenario?: TestScenario;
  escrow?: boolean | null;
};

/** Body of `POST /waitlist/fiat`. */
export type NewFiatInterest = {
  email: string;
  company?: string | null;
  country?: string | null;
  monthly_volume?: string | null;
};

/** Body of `POST /links`. */
export type NewLink = {
  title?: string;
  description?: string | null;
  amount?: string | null;
  currency?: Currency;
  type?: LinkType;
  metadata?: Record<string, unknown> | null;
  min_amount?: string | null;
  max_amount?: string | null;
  suggested_amounts?: Array<string> | null;
  interval?: Interval | null;
  redirect_url?: string | null;
  webhook_url?: string | null;
  customer_ref?: string | null;
  product_ref?: string | null;
  escrow?: boolean | null;
  template?: string | null;
};

/** Body of `POST /link_templates`. */
export type NewLinkTemplate = {
  title: string;
  description?: string | null;
  type?: LinkType;
  amount?: string | null;
  metadata?: Record<string, unknown> | null;
};

/** Body of `POST /payouts`. */
export type NewPayout = {
  address?: string | null;
  choices?: Array<PayoutChoice> | null;
  email?: string | null;
  expires_in?: number | null;
  reason?: string | null;
  reference?: string | null;
  metadata?: Record<string, unknown> | null;
  amount: string;
  currency?: Currency | null;
  chain: string;
  token: string;
};

/** Body of `POST /refunds`. */
export type NewRefund = {
  address?: string | null;
  choices?: Array<PayoutChoice> | null;
  email?: string | null;
  expires_in?: number | null;
  reason?: string | null;
  reference?: string | null;
  metadata?: Record<string, unknown> | null;
  source: NamedSource;
  amount?: string | null;
  currency?: Currency | null;
  chain?: string | null;
  token?: string | null;
  requires_payer_proof?: boolean | null;
};

/** Body of `POST /terminals`. */
export type NewTerminal = {
  name: string;
  currency?: Currency;
  tips?: Array<number> | null;
  chain?: string | null;
  chains?: Array<string> | null;
  shows_day?: boolean;
  has_sign?: boolean;
};

/** Body of `POST /wallets`. */
export type NewWatchedWallet = {
  chain: string;
  address: string;
  label?: string | null;
  tags?: Array<string> | null;
};

/** Body of `POST /webhook_endpoints`. */
export type NewWebhookEndpoint = {
  url: string;
  name?: string;
  events?: Array<"checkout.completed" | "checkout.expired" | "checkout.underpaid" | "checkout.reversed" | "checkout.restored" | "x402.payment.reversed" | "x402.payment.returned" | "gateway.restored" | "checkout.processing" | "checkout.transfer_confirmed" | "inbox.opened" | "inbox.closed" | "refund.claimed" | "refund.approved" | "refund.paid" | "refund.reversed" | "refund.ended" | "payout.claimed" | "payout.approved" | "payout.paid" | "payout.reversed" | "payout.ended" | "system.disrupted" | "system.recovered"> | null;
  enabled?: boolean;
  secret?: string;
};

/** A field of the request that was left out, and why. */
export type Notice = {
  param: string;
  code: Code;
  message: string;
};

/** What a 402 is about to ask for. */
export type OfferedResource = {
  resource: string;
  accepts: Array<Record<string, unknown>>;
};

/** Body of `POST /checkouts/{id}/options`. */
export type OptionChoice = {
  chain: string;
  token: string;
};

/** A token of another currency than USD. */
export type OtherAsset = {
  token: string;
  currency: string;
  address: string;
  decimals: number;
  extra: Record<string, string>;
};

/** Body of `PATCH /links/{id}`: what is absent stays. Type, currency and interval cannot be changed. */
export type PatchedLinkChanges = {
  title?: string;
  description?: string | null;
  amount?: string | null;
  metadata?: Record<string, unknown> | null;
  min_amount?: string | null;
  max_amount?: string | null;
  suggested_amounts?: Array<string> | null;
  redirect_url?: string | null;
  webhook_url?: string | null;
  customer_ref?: string | null;
  product_ref?: string | null;
  escrow?: boolean | null;
};

/** Body of `PATCH /links/{id}/status`. */
export type PatchedNewLinkStatus = {
  status?: LinkStatus;
};

/** Body of `PATCH /wallets/{id}`: what is absent stays. Chain and address cannot be changed. */
export type PatchedWatchedWalletChanges = {
  label?: string | null;
  tags?: Array<string> | null;
};

/** Body of `PATCH /webhook_endpoints/{id}`: what is absent stays. */
export type PatchedWebhookEndpointChanges = {
  url?: string;
  name?: string;
  events?: Array<"checkout.completed" | "checkout.expired" | "checkout.underpaid" | "checkout.reversed" | "checkout.restored" | "x402.payment.reversed" | "x402.payment.returned" | "gateway.restored" | "checkout.processing" | "checkout.transfer_confirmed" | "inbox.opened" | "inbox.closed" | "refund.claimed" | "refund.approved" | "refund.paid" | "refund.reversed" | "refund.ended" | "payout.claimed" | "payout.approved" | "payout.paid" | "payout.reversed" | "payout.ended" | "system.disrupted" | "system.recovered"> | null;
  enabled?: boolean;
};

/** How a checkout was paid. */
export type Payment = {
  amount_crypto: string;
  crypto_currency: string;
  network: string;
  tx_hash: string;
  sender_address: string;
  confirmed_at: string | null;
};

/** Body of `POST /checkouts/{id}/authorization`: `chain` and `account` first, then `ticket` and `signature`. */
export type PaymentAuthorization = {
  chain?: string;
  account?: string;
  ticket?: string;
  signature?: string;
};

/** A payment link. */
export type PaymentLink = {
  id: string;
  title: string;
  description: string | null;
  amount: string | null;
  currency: string;
  type: LinkType;
  metadata: Record<string, unknown>;
  status: LinkStatus;
  url: string;
  livemode: boolean;
  created_at: string;
  updated_at: string;
  payments_count: number;
  amount_collected: string;
  min_amount: string | null;
  max_amount: string | null;
  suggested_amounts: Array<string>;
  interval: Interval | null;
  redirect_url: string | null;
  webhook_url: string | null;
  customer_ref: string | null;
  product_ref: string | null;
  escrow: boolean;
  template: string | null;
  share_text: string;
};

/** Money that you send from your own wallet. A refund is a payout with a source. */
export type Payout = {
  id: string;
  kind: PayoutKind;
  status: PayoutStatus;
  exception: PayoutException | null;
  livemode: boolean;
  source: PayoutSource | null;
  amount: string;
  quote: PayoutQuote | null;
  token: string;
  chain: string;
  choices: Array<PayoutChoice>;
  address: string | null;
  address_checked: boolean;
  address_proved: boolean;
  requires_payer_proof: boolean;
  reason: string | null;
  reference: string | null;
  email: string | null;
  metadata: Record<string, unknown>;
  claim_url: string | null;
  claim_expires_at: string | null;
  approvals: PayoutApprovals;
  transaction: PayoutTransaction | null;
  created_at: string;
  approved_at: string | null;
  paid_at: string | null;
  ended_at: string | null;
};

/** The approvals of the present address. People give them in the dashboard. */
export type PayoutApprovals = {
  have: number;
  need: number;
  revision: number;
};

/** A chain and a token that the recipient may choose. */
export type PayoutChoice = {
  chain: string;
  token: string;
};

/** What is sent about a refund or payout. `checkout_id` is the checkout that a refund gives back, or empty. */
export type PayoutEvent = {
  id: string;
  type: string;
  created_at: string;
  api_version: string;
  livemode: boolean;
  checkout_id: string;
  sequence: number;
  data: Payout;
};

export type PayoutException = "reversed" | "paid_twice" | "wrong_amount";

export type PayoutKind = "refund" | "payout";

export type PayoutList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<Payout>;
};

/** How the amount of a payout was converted to USD, once, when it was asked for. */
export type PayoutQuote = {
  amount: string;
  currency: string;
  usd_amount: string;
  rate: string;
  sources: Array<QuoteSource>;
  taken_at: string;
};

/** What a refund sends back. */
export type PayoutSource = {
  checkout: string | null;
  x402_payment: string | null;
  transfers: Array<PayoutTransfer>;
};

export type PayoutStatus = "open" | "requested" | "approved" | "sending" | "paid" | "cancelled" | "expired";

/** The outflow that pays it. */
export type PayoutTransaction = {
  tx_hash: string;
  from: string | null;
  confirmations: number | null;
  required_confirmations: number | null;
  explorer_url: string | null;
};

/** A transfer that came in, and how much of it is sent back. */
export type PayoutTransfer = {
  id: string;
  chain: string;
  token: string;
  tx_hash: string;
  position: number;
  amount: string;
};

/** A currency that prices may be in. */
export type PriceCurrency = {
  currency: string;
  decimals: number;
  usd_rate: string | null;
  taken_at: string | null;
  sources: Array<RateSource>;
};

/** A payment that a machine made: all of it strings. */
export type Proof = {
  txHash: string;
  chain: string;
  token: string;
  amount: string;
  payerAddress: string;
  payTo: string;
  signature?: string;
  publicKey?: string;
};

export type Protocol = "hash" | "exact" | "upto";

export type Purpose = "checkout" | "x402";

/** How a price was converted to USD, once, when the checkout was created. */
export type Quote = {
  usd_amount: string;
  rate: string;
  margin: string;
  sources: Array<QuoteSource>;
  taken_at: string;
  expires_at: string;
};

/** What a source said: USD for one unit. */
export type QuoteSource = {
  name: string;
  rate: string;
  taken_at: string;
};

/** What one source said. */
export type RateSource = {
  name: string;
  rate: string;
  taken_at: string;
};

/** What is sent when a disruption is over. `checkout_id` is empty. */
export type RecoveryEvent = {
  id: string;
  type: string;
  created_at: string;
  api_version: string;
  livemode: boolean;
  checkout_id: string;
  sequence: number;
  data: EndedDisruption;
};

/** The merchant's own ids; only compared with each other. */
export type References = {
  customer_ref: string | null;
  product_ref: string | null;
  order_ref: string | null;
  ambiguity_resolution_armed: boolean;
};

/** How many transfers and movements: final ones in and out, those in that are not final yet. */
export type ReportCounts = {
  in: number;
  out: number;
  unconfirmed: number;
  credited: number;
  uncredited: number;
};

/** Money that was sent on from forwarders to a receiving wallet. `amount` is what moved, or the plan until it ended. */
export type ReportSettlement = {
  id: string;
  chain: string;
  token: string;
  amount: string;
  to: string;
  status: SettlementStatus;
  created_at: string;
  purpose: Purpose;
  tx_hash: string | null;
  explorer_url: string | null;
  settled_at: string | null;
  error: string | null;
};

export type ReportSettlementList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<ReportSettlement>;
};

/** What came to a merchant and left its watched wallets in a range of time, in USD. */
export type ReportSummary = {
  from: string;
  to: string;
  livemode: boolean;
  inflow: string;
  outflow: string;
  net: string;
  unconfirmed: string;
  fees: string;
  counts: ReportCounts;
  balances: Array<Held>;
  by_chain: Array<ChainFlows>;
  by_day: Array<DayFlows>;
  by_tag: Array<TagFlows>;
};

/** A transfer to one of the merchant's addresses, with the checkout that it paid, or a movement of a watched wallet. */
export type ReportTransaction = {
  id: string;
  direction: Direction;
  chain: string;
  token: string;
  amount: string;
  tx_hash: string;
  position: number;
  sender_address: string;
  recipient_address: string;
  status: TransferState;
  block_time: string;
  detected_at: string;
  confirmed_at: string | null;
  checkout_id: string | null;
  order_ref: string | null;
  wallet_id: string | null;
  kind: ReportTransactionKind;
  x402_payment_id: string | null;
  resource: string | null;
  fee: string | null;
  usd_value: string | null;
  explorer_url: string | null;
  payout_id: string | null;
  amount_refunded: string | null;
  price: string | null;
  price_currency: string | null;
};

export type ReportTransactionKind = "checkout" | "x402" | "uncredited" | "other_token" | "watched" | "refund" | "payout";

export type ReportTransactionList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<ReportTransaction>;
};

/** What the resource costs. */
export type Requirements = {
  scheme: RequirementsScheme;
  network: string;
  maxAmountRequired: string;
  asset: string;
  resource: string;
};

export type RequirementsScheme = "exact";

export type Scope = "checkouts:read" | "checkouts:write" | "escrow:release" | "links:read" | "links:write" | "events:read" | "inbox:read" | "payouts:read" | "payouts:request" | "reports:read" | "terminals:read" | "terminals:write" | "wallets:read" | "wallets:write" | "webhooks:read" | "webhooks:write" | "x402:read" | "x402:verify" | "x402:settle";

export type SettleBody = SettleFunds | StandardPayment;

/** What to send on to the merchant's wallet: without a field, of all chains and tokens. */
export type SettleFunds = {
  chain?: string;
  token?: string;
};

/** The standard's answer to a settlement. With `settlement_pending` the transaction may still get into a block. */
export type Settled = {
  success: boolean;
  transaction: string;
  network: string;
  payer?: string;
  amount?: string;
  extra?: SettledPaymentReference;
  errorReason?: string;
  errorMessage?: string;
  extensions?: Record<string, unknown>;
};

/** Florin's own fields, in addition to the standard's. */
export type SettledPaymentReference = {
  paymentId: string;
};

/** Money on its way from forwarders to the merchant's wallet. */
export type Settlement = {
  id: string;
  chain: string;
  token: string;
  amount: string;
  to: string;
  status: SettlementStatus;
  txHash: string | null;
  created_at: string;
};

/** What was written down; nothing where nothing waits. */
export type SettlementList = {
  settlements: Array<Settlement>;
};

export type SettlementStatus = "pending" | "sent" | "settled" | "failed";

/** The standard's extension `offer-receipt` for the 402. */
export type SignedOffers = {
  extension: Record<string, unknown>;
  validUntil: number;
};

/** A payment of the public standard, as its version says: the libraries that clients use write it. */
export type StandardPayment = {
  x402Version: X402Version;
  paymentPayload: Record<string, unknown>;
  paymentRequirements: Record<string, unknown>;
  receiptFor?: string;
};

/** Which payments are settled, and by which accounts. */
export type Supported = {
  kinds: Array<SupportedPayment>;
  extensions: Array<string>;
  signers: Record<string, Array<string>>;
};

/** A scheme and network that this facilitator settles. */
export type SupportedPayment = {
  x402Version: X402Version;
  scheme: SupportedPaymentScheme;
  network: string;
  extra?: SupportedPaymentAccount;
};

/** The account of ours that payers name in what they sign. */
export type SupportedPaymentAccount = {
  feePayer?: string;
  facilitatorAddress?: string;
};

export type SupportedPaymentScheme = "exact" | "upto";

/** The sums of the watched wallets with a tag, of all that moved in and out of them. */
export type TagFlows = {
  tag: string;
  inflow: string;
  outflow: string;
  net: string;
  unconfirmed: string;
  count: number;
};

/** A place that sells, in one mode, and the one device that may sell there. */
export type Terminal = {
  id: string;
  name: string;
  currency: string;
  tips: Array<number>;
  chain: string | null;
  chains: Array<string>;
  shows_day: boolean;
  has_sign: boolean;
  sign_url: string | null;
  link_id: string | null;
  has_pin: boolean;
  status: TerminalStatus;
  device: string | null;
  livemode: boolean;
  created_at: string;
  paired_at: string | null;
  last_seen_at: string | null;
  revoked_at: string | null;
};

export type TerminalList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<Terminal>;
};

/** A code that pairs one device with a terminal, once. No other answer has it. */
export type TerminalPairing = {
  code: string;
  url: string;
  expires_at: string;
};

/** A checkout that was made at a terminal. */
export type TerminalSale = {
  checkout_id: string;
  amount: string;
  currency: string;
  tip: string;
  status: CheckoutStatus;
  exception: CheckoutException | null;
  accepted_by: string | null;
  is_by_customer: boolean;
  created_at: string;
};

export type TerminalSaleList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<TerminalSale>;
};

export type TerminalStatus = "unpaired" | "paired" | "revoked";

/** A test event on its way to an endpoint. */
export type TestDelivery = {
  id: string;
  event_id: string;
  status: DeliveryStatus;
  created_at: string;
};

export type TestScenario = "completed" | "processing" | "underpaid" | "topped_up" | "part_paid" | "overpaid" | "extra" | "late" | "expired" | "reorg" | "reversed";

/** A token on one chain. */
export type TokenContract = {
  address: string;
  decimals: number;
};

/** What became of the transactions with a hash: chains of one kind may each have one. */
export type TransactionExplanation = {
  livemode: boolean;
  source: TransactionSource;
  transactions: Array<ExplainedTransaction>;
  unasked_chains: Array<string>;
};

/** A token movement of a transaction, and what became of it. */
export type TransactionMovement = {
  id: string | null;
  tx_hash: string;
  position: number;
  token: string | null;
  token_address: string | null;
  amount: string | null;
  sender_address: string;
  recipient_address: string;
  status: TransferState | null;
  in_doubt: boolean;
  outcome: TransactionOutcome;
  explanation: string;
  checkout_id: string | null;
  replaces: string | null;
  x402_payment_id: string | null;
  refund_tx: string | null;
  inbox_items: Array<InboxMention>;
};

export type TransactionOutcome = "credited" | "accepted_late" | "x402" | "inbox" | "refunded" | "dismissed" | "unclaimed" | "undecided" | "reversed" | "unread" | "unsupported" | "elsewhere";

export type TransactionSource = "records" | "nodes";

export type TransactionStatus = "waiting" | "failed" | "mined" | "removed";

export type TransferState = "detected" | "confirmed" | "orphaned";

/** The standard's answer to a verification. */
export type Verified = {
  isValid: boolean;
  payer?: string;
  invalidReason?: string;
  invalidMessage?: string;
};

/** Whether the payment pays. With `valid` the fields from `verifiedAt` to `confirmations` are there, else the others. */
export type VerifyAnswer = {
  valid: boolean;
  txHash: string;
  verifiedAt?: string;
  paymentId?: string;
  confirmations?: number;
  reason?: VerifyAnswerReason;
  message?: string;
  retryAfter?: number | null;
};

export type VerifyAnswerReason = "not_found" | "not_confirmed" | "failed_transaction" | "wrong_recipient" | "wrong_token" | "insufficient_amount" | "wrong_payer" | "wrong_chain" | "already_used" | "too_old" | "requirements_mismatch";

export type VerifyBody = VerifyPayment | StandardPayment;

/** A proof by hash, and what it is to pay for. */
export type VerifyPayment = {
  payment: Proof;
  requirements: Requirements;
};

export type VerifyResult = VerifyAnswer | Verified;

/** An address whose movements are recorded. Nothing is ever credited because of it. */
export type WatchedWallet = {
  id: string;
  chain: string;
  address: string;
  label: string;
  tags: Array<string>;
  status: WatchedWalletStatus;
  balances: Balances;
  history: History;
  livemode: boolean;
  created_at: string;
};

export type WatchedWalletList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<WatchedWallet>;
};

export type WatchedWalletStatus = "importing" | "active";

/** An event on its way to one endpoint, or there. */
export type WebhookDelivery = {
  id: string;
  event_id: string;
  event_type: string;
  checkout_id: string;
  endpoint_id: string | null;
  url: string;
  status: DeliveryStatus;
  tries: number;
  next_attempt_at: string | null;
  finished_at: string | null;
  last_attempt: DeliveryAttempt | null;
  livemode: boolean;
  created_at: string;
};

/** A delivery with its attempts. */
export type WebhookDeliveryDetail = {
  id: string;
  event_id: string;
  event_type: string;
  checkout_id: string;
  endpoint_id: string | null;
  url: string;
  status: DeliveryStatus;
  tries: number;
  next_attempt_at: string | null;
  finished_at: string | null;
  last_attempt: DeliveryAttempt | null;
  livemode: boolean;
  created_at: string;
  attempts: Array<AnsweredAttempt>;
};

export type WebhookDeliveryList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<WebhookDelivery>;
};

/** A URL that receives events, without its secret. */
export type WebhookEndpoint = {
  id: string;
  url: string;
  name: string;
  events: Array<"checkout.completed" | "checkout.expired" | "checkout.underpaid" | "checkout.reversed" | "checkout.restored" | "x402.payment.reversed" | "x402.payment.returned" | "gateway.restored" | "checkout.processing" | "checkout.transfer_confirmed" | "inbox.opened" | "inbox.closed" | "refund.claimed" | "refund.approved" | "refund.paid" | "refund.reversed" | "refund.ended" | "payout.claimed" | "payout.approved" | "payout.paid" | "payout.reversed" | "payout.ended" | "system.disrupted" | "system.recovered"> | null;
  enabled: boolean;
  is_default: boolean;
  health: EndpointHealth;
  failing_since: string | null;
  disabled_reason: string | null;
  livemode: boolean;
  created_at: string;
};

export type WebhookEndpointList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<WebhookEndpoint>;
};

/** A webhook endpoint with its secret, which no other answer has. */
export type WebhookEndpointSecret = {
  id: string;
  url: string;
  name: string;
  events: Array<"checkout.completed" | "checkout.expired" | "checkout.underpaid" | "checkout.reversed" | "checkout.restored" | "x402.payment.reversed" | "x402.payment.returned" | "gateway.restored" | "checkout.processing" | "checkout.transfer_confirmed" | "inbox.opened" | "inbox.closed" | "refund.claimed" | "refund.approved" | "refund.paid" | "refund.reversed" | "refund.ended" | "payout.claimed" | "payout.approved" | "payout.paid" | "payout.reversed" | "payout.ended" | "system.disrupted" | "system.recovered"> | null;
  enabled: boolean;
  is_default: boolean;
  health: EndpointHealth;
  failing_since: string | null;
  disabled_reason: string | null;
  livemode: boolean;
  created_at: string;
  secret: string;
};

/** Where machines pay a merchant. */
export type X402Config = {
  payTo: Record<string, string>;
  networks: Array<string>;
  assets: Record<string, Array<string>>;
  otherAssets?: Record<string, Array<OtherAsset>>;
  scheme: string;
  settlement: Record<string, "batch" | "direct">;
  missing: Array<MissingWallet>;
  requiresSignature: boolean;
};

/** What a machine paid. */
export type X402Payment = {
  id: string;
  livemode: boolean;
  protocol: Protocol;
  chain: string;
  token: string;
  amount: string;
  required_amount: string;
  txHash: string;
  position: number;
  payerAddress: string;
  payTo: string;
  signed: boolean;
  resource: string;
  status: X402PaymentStatus;
  verified_at: string;
  final_at: string | null;
  settled_at: string | null;
  reversed_at: string | null;
};

/** What is sent about a payment by a machine. `checkout_id` is the payment's id. */
export type X402PaymentEvent = {
  id: string;
  type: string;
  created_at: string;
  api_version: string;
  livemode: boolean;
  checkout_id: string;
  sequence: number;
  data: X402Payment;
};

export type X402PaymentList = {
  total?: number;
  limit: number;
  offset: number;
  data: Array<X402Payment>;
};

export type X402PaymentStatus = "verified" | "settled" | "reversed";

export type X402Version = 1 | 2;

export type ListCheckoutsQuery = {
  created_after?: string;
  created_before?: string;
  customer_ref?: string;
  include_total?: boolean;
  limit?: number;
  offset?: number;
  order_ref?: string;
  product_ref?: string;
  starting_after?: string;
  status?: "completed" | "expired" | "pending" | "processing" | "underpaid";
};

export type ListEventsQuery = {
  after?: number;
  checkout_id?: string;
  include_total?: boolean;
  limit?: number;
  offset?: number;
  starting_after?: string;
  type?: "checkout.completed" | "checkout.expired" | "checkout.processing" | "checkout.restored" | "checkout.reversed" | "checkout.transfer_confirmed" | "checkout.underpaid" | "gateway.restored" | "inbox.closed" | "inbox.opened" | "payout.approved" | "payout.claimed" | "payout.ended" | "payout.paid" | "payout.reversed" | "refund.approved" | "refund.claimed" | "refund.ended" | "refund.paid" | "refund.reversed" | "system.disrupted" | "system.recovered" | "x402.payment.returned" | "x402.payment.reversed";
};

export type ListItemsInboxQuery = {
  chain?: string;
  checkout_id?: string;
  include_total?: boolean;
  limit?: number;
  offset?: number;
  reason?: "ambiguous" | "dust" | "extra" | "late" | "late_outage" | "reversed" | "rival" | "unmatched" | "wrong_network" | "wrong_token";
  starting_after?: string;
  status?: "credited" | "dismissed" | "open" | "refunded";
};

export type ListLinkTemplatesQuery = {
  include_total?: boolean;
  limit?: number;
  offset?: number;
  starting_after?: string;
};

export type ListLinksQuery = {
  include_total?: boolean;
  limit?: number;
  offset?: number;
  starting_after?: string;
  status?: "active" | "archived" | "paused";
};

export type ListPayoutsQuery = {
  checkout_id?: string;
  created_after?: string;
  created_before?: string;
  inbox_item_id?: string;
  include_total?: boolean;
  kind?: "payout" | "refund";
  limit?: number;
  offset?: number;
  reference?: string;
  starting_after?: string;
  status?: "approved" | "cancelled" | "expired" | "open" | "paid" | "requested" | "sending";
  transfer_id?: string;
  x402_payment_id?: string;
};

export type ListRefundsQuery = {
  checkout_id?: string;
  created_after?: string;
  created_before?: string;
  inbox_item_id?: string;
  include_total?: boolean;
  limit?: number;
  offset?: number;
  reference?: string;
  starting_after?: string;
  status?: "approved" | "cancelled" | "expired" | "open" | "paid" | "requested" | "sending";
  transfer_id?: string;
  x402_payment_id?: string;
};

export type ListSettlementsReportsQuery = {
  chain?: string;
  from?: string;
  include_total?: boolean;
  limit?: number;
  offset?: number;
  starting_after?: string;
  to?: string;
};

export type GetSummaryReportsQuery = {
  chain?: string;
  from?: string;
  tag?: string;
  to?: string;
};

export type ListTransactionsReportsQuery = {
  chain?: string;
  direction?: "in" | "out";
  from?: string;
  include_total?: boolean;
  limit?: number;
  offset?: number;
  starting_after?: string;
  tag?: string;
  to?: string;
  token?: string;
  wallet?: string;
};

export type ListTerminalsQuery = {
  include_total?: boolean;
  limit?: number;
  offset?: number;
  starting_after?: string;
};

export type ListSalesTerminalsQuery = {
  include_total?: boolean;
  limit?: number;
  offset?: number;
  starting_after?: string;
};

export type GetTransactionsQuery = {
  chain?: string;
};

export type ListWalletsQuery = {
  chain?: string;
  include_total?: boolean;
  limit?: number;
  offset?: number;
  starting_after?: string;
  tag?: string;
};

export type ListTransactionsWalletsQuery = {
  direction?: "in" | "out";
  from?: string;
  include_total?: boolean;
  limit?: number;
  offset?: number;
  starting_after?: string;
  to?: string;
  token?: string;
};

export type ListWebhookDeliveriesQuery = {
  checkout_id?: string;
  endpoint_id?: string;
  event_id?: string;
  event_type?: "checkout.completed" | "checkout.expired" | "checkout.processing" | "checkout.restored" | "checkout.reversed" | "checkout.transfer_confirmed" | "checkout.underpaid" | "gateway.restored" | "inbox.closed" | "inbox.opened" | "payout.approved" | "payout.claimed" | "payout.ended" | "payout.paid" | "payout.reversed" | "refund.approved" | "refund.claimed" | "refund.ended" | "refund.paid" | "refund.reversed" | "system.disrupted" | "system.recovered" | "x402.payment.returned" | "x402.payment.reversed";
  include_total?: boolean;
  limit?: number;
  offset?: number;
  starting_after?: string;
  status?: "cancelled" | "delivered" | "failed" | "failing" | "held" | "pending";
};

export type ListWebhookEndpointsQuery = {
  include_total?: boolean;
  limit?: number;
  offset?: number;
  starting_after?: string;
};

export type ListPaymentsX402Query = {
  chain?: string;
  created_after?: string;
  created_before?: string;
  include_total?: boolean;
  limit?: number;
  offset?: number;
  resource?: string;
  starting_after?: string;
  status?: "reversed" | "settled" | "verified";
  token?: string;
};

