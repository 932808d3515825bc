<?php

// Shapes of requests and answers, for phpstan and psalm. Written by script/clients.

declare(strict_types=1);

namespace Florin;

/**
 * @phpstan-type Act 'credit'|'accept_late'|'refunded'|'dismiss'
 * @phpstan-type ActiveDisruption array{kind: ActiveDisruptionKind, chain: string|null, endpoint_id: string|null, since: string|null, block: int|null, heading: string, meaning: string, doing: string, advice: string, orders_at_risk: int}
 * @phpstan-type ActiveDisruptionKind 'halted'|'reversed'|'down'|'endpoint_failing'|'endpoint_off'|'sources_disagree'|'gas_low'|'delayed'
 * @phpstan-type ActiveDisruptionList array{data: list<ActiveDisruption>}
 * @phpstan-type Advance array{steps?: int|null}
 * @phpstan-type AnsweredAttempt array{started_at: string, duration_ms: int, status_code: int|null, error: string|null, response_headers: array<string, string>, response_body: string}
 * @phpstan-type AuthorizedPayment array{typed_data?: array<string, mixed>, transaction?: string, ticket?: string, tx_hash?: string}
 * @phpstan-type Balances array{USDC: string|null, USDT: string|null}
 * @phpstan-type Chain array{chain: string, name: string, chainId: int|null, tokens: list<string>, tokenContracts: array<string, TokenContract>, exactAmountRequired: bool, estimatedConfirmSec: int, confirmations: int, gasTier: GasTier, priority: int, badge: string|null, explorerTx: string|null, status: ChainStatus, reason: ChainReason|null, disruption: ChainDisruption|null}
 * @phpstan-type ChainDisruption array{kind: ChainDisruptionKind, since: string|null, block: int|null, heading: string, meaning: string, doing: string, advice: string}
 * @phpstan-type ChainDisruptionKind 'halted'|'down'|'sources_disagree'|'delayed'
 * @phpstan-type ChainFlows array{chain: string, token: string, inflow: string, outflow: string, net: string, unconfirmed: string, count: int}
 * @phpstan-type ChainList array{data: list<Chain>}
 * @phpstan-type ChainOption array{chain: string, name: string, tokens: list<string>, estimatedConfirmSec: int, gasTier: GasTier, priority: int, badge: string|null, exactAmountRequired: bool, address: string|null, payAmount: string|null, paymentUri: string|null, due?: array<string, string>, gasFree?: bool}
 * @phpstan-type ChainReason 'halted'|'unreachable'
 * @phpstan-type ChainStatus 'ok'|'delayed'|'down'
 * @phpstan-type ChangedTransfer array{chain: string, tx_hash: string, position: int}
 * @phpstan-type Checkout array{id: string, status: CheckoutStatus, amount: string, currency: string, quote?: Quote, dues?: array<string, Due>, description: string|null, metadata: array<string, mixed>, checkout_url: string, references: References, payment: Payment|null, expires_at: string, created_at: string, livemode: bool, amount_received: string, amount_remaining: string, amount_refunded: string, exception: CheckoutException|null, paid_at: string|null, cancelled: bool, replaces: string|null, replaced_by: string|null, transfers: list<CreditedTransfer>, escrow: bool, escrow_status: EscrowStatus|null, escrow_released_by: EscrowReleasedBy|null}
 * @phpstan-type CheckoutEvent array{id: string, type: string, created_at: string, api_version: string, livemode: bool, checkout_id: string, sequence: int, data: Checkout}
 * @phpstan-type CheckoutException 'underpaid'|'overpaid'|'reversed'
 * @phpstan-type CheckoutList array{total?: int, limit: int, offset: int, data: list<Checkout>}
 * @phpstan-type CheckoutStatus 'pending'|'processing'|'underpaid'|'completed'|'expired'
 * @phpstan-type CheckoutTransferEvent array{id: string, type: string, created_at: string, api_version: string, livemode: bool, checkout_id: string, sequence: int, data: ConfirmedCheckout}
 * @phpstan-type Code 'email_unusable'
 * @phpstan-type ConfirmedCheckout array{id: string, status: 'pending'|'processing'|'underpaid'|'completed'|'expired', amount: string, currency: string, quote?: Quote, dues?: array<string, Due>, description: string|null, metadata: array<string, mixed>, checkout_url: string, references: References, payment: Payment|null, expires_at: string, created_at: string, livemode: bool, amount_received: string, amount_remaining: string, amount_refunded: string, exception: ''|'underpaid'|'overpaid'|'reversed'|null, paid_at: string|null, cancelled: bool, replaces: string|null, replaced_by: string|null, transfers: list<CreditedTransfer>, escrow: bool, escrow_status: 'held'|'released'|null, escrow_released_by: 'member'|'api'|'external'|null, changed_transfer: ChangedTransfer}
 * @phpstan-type CreatedCheckout array{id: string, status: CheckoutStatus, amount: string, currency: string, quote?: Quote, dues?: array<string, Due>, description: string|null, metadata: array<string, mixed>, checkout_url: string, references: References, payment: Payment|null, expires_at: string, created_at: string, livemode: bool, amount_received: string, amount_remaining: string, amount_refunded: string, exception: CheckoutException|null, paid_at: string|null, cancelled: bool, replaces: string|null, replaced_by: string|null, transfers: list<CreditedTransfer>, escrow: bool, escrow_status: EscrowStatus|null, escrow_released_by: EscrowReleasedBy|null, available_chains: list<ChainOption>, notices: list<Notice>}
 * @phpstan-type CreditedTransfer array{chain: string, token: string, amount: string, tx_hash: string, position: int, sender_address: string, confirmations: int, required_confirmations: int, status: TransferState, in_doubt: bool, detected_at: string, confirmed_at: string|null}
 * @phpstan-type Currency 'USD'
 * @phpstan-type CurrencyList array{data: list<PriceCurrency>}
 * @phpstan-type DayFlows array{day: string, inflow: string, outflow: string, net: string, unconfirmed: string, count: int}
 * @phpstan-type DeletedTemplate array{id: string, deleted: bool}
 * @phpstan-type DeliveryAttempt array{started_at: string, duration_ms: int, status_code: int|null, error: string|null}
 * @phpstan-type DeliveryStatus 'pending'|'held'|'delivered'|'failed'|'cancelled'
 * @phpstan-type Direction 'in'|'out'
 * @phpstan-type DisruptionEvent array{id: string, type: string, created_at: string, api_version: string, livemode: bool, checkout_id: string, sequence: int, data: ActiveDisruption}
 * @phpstan-type Due array{amount: string, currency: string, rate: string, sources: list<QuoteSource>, taken_at: string}
 * @phpstan-type EndedDisruption array{kind: string, chain: string, since: string, until: string}
 * @phpstan-type EndpointHealth 'healthy'|'failing'|'probation'|'disabled'
 * @phpstan-type EscrowReleasedBy 'member'|'api'|'external'
 * @phpstan-type EscrowStatus 'held'|'released'
 * @phpstan-type EventBody array{id: string, type: string, created_at: string, api_version: string, livemode: bool, checkout_id: string, sequence: int, data: array<string, mixed>}
 * @phpstan-type EventList array{total?: int, limit: int, offset: int, data: list<EventBody>}
 * @phpstan-type ExplainedTransaction array{chain: string, tx_hash: string, status: TransactionStatus, block_time: string|null, explorer_url: string|null, movements: list<TransactionMovement>}
 * @phpstan-type FiatInterest array{id: string, email: string, company: string|null, country: string|null, monthly_volume: string|null, livemode: bool, created_at: string}
 * @phpstan-type GasTier 'low'|'medium'|'high'
 * @phpstan-type GatewayRestore array{lost_from: string, restored_at: string}
 * @phpstan-type GatewayRestoredEvent array{id: string, type: string, created_at: string, api_version: string, livemode: bool, checkout_id: string, sequence: int, data: GatewayRestore}
 * @phpstan-type Held array{chain: string, token: string, amount: string}
 * @phpstan-type History array{progress: int, since: string, error: string|null}
 * @phpstan-type InboxCandidate array{id: string, order_ref: string|null, status: CheckoutStatus, amount: string, amount_remaining: string, why_not: string}
 * @phpstan-type InboxCheckout array{id: string, order_ref: string|null, status: CheckoutStatus, amount: string, amount_remaining: string}
 * @phpstan-type InboxDecision array{act: Act, checkout_id: string|null, refund_tx: string|null, decided_at: string, takes_effect_at: string, took_effect_at: string|null}
 * @phpstan-type InboxEvent array{id: string, type: string, created_at: string, api_version: string, livemode: bool, checkout_id: string, sequence: int, data: InboxItem}
 * @phpstan-type InboxItem array{id: string, livemode: bool, status: InboxStatus, reason: InboxReason, title: string, meaning: string, explanation: string|null, transfer: InboxTransfer, checkout: InboxCheckout|null, candidates: list<InboxCandidate>, decision: InboxDecision|null, outcome: InboxOutcome|null, created_at: string, closed_at: string|null}
 * @phpstan-type InboxList array{total?: int, limit: int, offset: int, data: list<InboxItem>}
 * @phpstan-type InboxMention array{id: string, status: InboxStatus, reason: InboxReason, outcome: InboxOutcome|null}
 * @phpstan-type InboxOutcome 'credited'|'accepted_late'|'refunded'|'dismissed'|'restored'
 * @phpstan-type InboxReason 'late'|'late_outage'|'extra'|'wrong_network'|'wrong_token'|'dust'|'unmatched'|'ambiguous'|'reversed'|'rival'
 * @phpstan-type InboxStatus 'open'|'credited'|'refunded'|'dismissed'
 * @phpstan-type InboxTransfer array{id: string, chain: string, token: string, amount: string, tx_hash: string, position: int, sender_address: string, recipient_address: string, status: TransferState, labels: list<string>, block_time: string, detected_at: string, confirmed_at: string|null, explorer_url: string|null}
 * @phpstan-type Interval 'week'|'month'|'year'
 * @phpstan-type KeyBody array{id: string, name: string, mode: Mode, merchant: KeyMerchant, scopes: list<Scope>, allowed_networks: list<string>, expires_at: string|null, created_at: string}
 * @phpstan-type KeyMerchant array{id: string, name: string}
 * @phpstan-type LinkList array{total?: int, limit: int, offset: int, data: list<PaymentLink>}
 * @phpstan-type LinkStatus 'active'|'paused'|'archived'
 * @phpstan-type LinkTemplate array{id: string, title: string, description: string|null, type: LinkType, amount: string|null, metadata: array<string, mixed>, livemode: bool, created_at: string}
 * @phpstan-type LinkTemplateList array{total?: int, limit: int, offset: int, data: list<LinkTemplate>}
 * @phpstan-type LinkType 'invoice'|'donation'|'subscription'|'custom'
 * @phpstan-type MissingWallet array{chain: string, page: string}
 * @phpstan-type Mode 'live'|'test'
 * @phpstan-type Movement array{id: string, direction: Direction, chain: string, token: string, amount: string, tx_hash: string, position: int, counterparty_address: string, status: TransferState, block_time: string, confirmed_at: string|null}
 * @phpstan-type MovementList array{total?: int, limit: int, offset: int, data: list<Movement>}
 * @phpstan-type NamedSource array{checkout?: string, x402_payment?: string, transfer?: NamedTransfer}
 * @phpstan-type NamedTransfer array{chain: string, tx_hash: string, position?: int}
 * @phpstan-type NewAddress array{address: string, chain?: string|null, token?: string|null}
 * @phpstan-type NewCheckout array{amount: string, currency: Currency, description?: string|null, metadata?: array<string, mixed>|null, customer_email?: string|null, redirect_url?: string|null, webhook_url?: string|null, expires_in?: int|null, customer_ref?: string|null, product_ref?: string|null, order_ref?: string|null, test_scenario?: TestScenario, escrow?: bool|null}
 * @phpstan-type NewFiatInterest array{email: string, company?: string|null, country?: string|null, monthly_volume?: string|null}
 * @phpstan-type NewLink array{title?: string, description?: string|null, amount?: string|null, currency?: Currency, type?: LinkType, metadata?: array<string, mixed>|null, min_amount?: string|null, max_amount?: string|null, suggested_amounts?: list<string>|null, interval?: Interval|null, redirect_url?: string|null, webhook_url?: string|null, customer_ref?: string|null, product_ref?: string|null, escrow?: bool|null, template?: string|null}
 * @phpstan-type NewLinkTemplate array{title: string, description?: string|null, type?: LinkType, amount?: string|null, metadata?: array<string, mixed>|null}
 * @phpstan-type NewPayout array{address?: string|null, choices?: list<PayoutChoice>|null, email?: string|null, expires_in?: int|null, reason?: string|null, reference?: string|null, metadata?: array<string, mixed>|null, amount: string, currency?: Currency|null, chain: string, token: string}
 * @phpstan-type NewRefund array{address?: string|null, choices?: list<PayoutChoice>|null, email?: string|null, expires_in?: int|null, reason?: string|null, reference?: string|null, metadata?: array<string, mixed>|null, source: NamedSource, amount?: string|null, currency?: Currency|null, chain?: string|null, token?: string|null, requires_payer_proof?: bool|null}
 * @phpstan-type NewTerminal array{name: string, currency?: Currency, tips?: list<int>|null, chain?: string|null, chains?: list<string>|null, shows_day?: bool, has_sign?: bool}
 * @phpstan-type NewWatchedWallet array{chain: string, address: string, label?: string|null, tags?: list<string>|null}
 * @phpstan-type NewWebhookEndpoint array{url: string, name?: string, events?: list<'checkout.completed'|'checkout.expired'|'checkout.underpaid'|'checkout.reversed'|'checkout.restored'|'x402.payment.reversed'|'x402.payment.returned'|'gateway.restored'|'checkout.processing'|'checkout.transfer_confirmed'|'inbox.opened'|'inbox.closed'|'refund.claimed'|'refund.approved'|'refund.paid'|'refund.reversed'|'refund.ended'|'payout.claimed'|'payout.approved'|'payout.paid'|'payout.reversed'|'payout.ended'|'system.disrupted'|'system.recovered'>|null, enabled?: bool, secret?: string}
 * @phpstan-type Notice array{param: string, code: Code, message: string}
 * @phpstan-type OfferedResource array{resource: string, accepts: list<array<string, mixed>>}
 * @phpstan-type OptionChoice array{chain: string, token: string}
 * @phpstan-type OtherAsset array{token: string, currency: string, address: string, decimals: int, extra: array<string, string>}
 * @phpstan-type PatchedLinkChanges array{title?: string, description?: string|null, amount?: string|null, metadata?: array<string, mixed>|null, min_amount?: string|null, max_amount?: string|null, suggested_amounts?: list<string>|null, redirect_url?: string|null, webhook_url?: string|null, customer_ref?: string|null, product_ref?: string|null, escrow?: bool|null}
 * @phpstan-type PatchedNewLinkStatus array{status?: LinkStatus}
 * @phpstan-type PatchedWatchedWalletChanges array{label?: string|null, tags?: list<string>|null}
 * @phpstan-type PatchedWebhookEndpointChanges array{url?: string, name?: string, events?: list<'checkout.completed'|'checkout.expired'|'checkout.underpaid'|'checkout.reversed'|'checkout.restored'|'x402.payment.reversed'|'x402.payment.returned'|'gateway.restored'|'checkout.processing'|'checkout.transfer_confirmed'|'inbox.opened'|'inbox.closed'|'refund.claimed'|'refund.approved'|'refund.paid'|'refund.reversed'|'refund.ended'|'payout.claimed'|'payout.approved'|'payout.paid'|'payout.reversed'|'payout.ended'|'system.disrupted'|'system.recovered'>|null, enabled?: bool}
 * @phpstan-type Payment array{amount_crypto: string, crypto_currency: string, network: string, tx_hash: string, sender_address: string, confirmed_at: string|null}
 * @phpstan-type PaymentAuthorization array{chain?: string, account?: string, ticket?: string, signature?: string}
 * @phpstan-type PaymentLink array{id: string, title: string, description: string|null, amount: string|null, currency: string, type: LinkType, metadata: array<string, mixed>, status: LinkStatus, url: string, livemode: bool, created_at: string, updated_at: string, payments_count: int, amount_collected: string, min_amount: string|null, max_amount: string|null, suggested_amounts: list<string>, interval: Interval|null, redirect_url: string|null, webhook_url: string|null, customer_ref: string|null, product_ref: string|null, escrow: bool, template: string|null, share_text: string}
 * @phpstan-type Payout array{id: string, kind: PayoutKind, status: PayoutStatus, exception: PayoutException|null, livemode: bool, source: PayoutSource|null, amount: string, quote: PayoutQuote|null, token: string, chain: string, choices: list<PayoutChoice>, address: string|null, address_checked: bool, address_proved: bool, requires_payer_proof: bool, reason: string|null, reference: string|null, email: string|null, metadata: array<string, mixed>, claim_url: string|null, claim_expires_at: string|null, approvals: PayoutApprovals, transaction: PayoutTransaction|null, created_at: string, approved_at: string|null, paid_at: string|null, ended_at: string|null}
 * @phpstan-type PayoutApprovals array{have: int, need: int, revision: int}
 * @phpstan-type PayoutChoice array{chain: string, token: string}
 * @phpstan-type PayoutEvent array{id: string, type: string, created_at: string, api_version: string, livemode: bool, checkout_id: string, sequence: int, data: Payout}
 * @phpstan-type PayoutException 'reversed'|'paid_twice'|'wrong_amount'
 * @phpstan-type PayoutKind 'refund'|'payout'
 * @phpstan-type PayoutList array{total?: int, limit: int, offset: int, data: list<Payout>}
 * @phpstan-type PayoutQuote array{amount: string, currency: string, usd_amount: string, rate: string, sources: list<QuoteSource>, taken_at: string}
 * @phpstan-type PayoutSource array{checkout: string|null, x402_payment: string|null, transfers: list<PayoutTransfer>}
 * @phpstan-type PayoutStatus 'open'|'requested'|'approved'|'sending'|'paid'|'cancelled'|'expired'
 * @phpstan-type PayoutTransaction array{tx_hash: string, from: string|null, confirmations: int|null, required_confirmations: int|null, explorer_url: string|null}
 * @phpstan-type PayoutTransfer array{id: string, chain: string, token: string, tx_hash: string, position: int, amount: string}
 * @phpstan-type PriceCurrency array{currency: string, decimals: int, usd_rate: string|null, taken_at: string|null, sources: list<RateSource>}
 * @phpstan-type Proof array{txHash: string, chain: string, token: string, amount: string, payerAddress: string, payTo: string, signature?: string, publicKey?: string}
 * @phpstan-type Protocol 'hash'|'exact'|'upto'
 * @phpstan-type Purpose 'checkout'|'x402'
 * @phpstan-type Quote array{usd_amount: string, rate: string, margin: string, sources: list<QuoteSource>, taken_at: string, expires_at: string}
 * @phpstan-type QuoteSource array{name: string, rate: string, taken_at: string}
 * @phpstan-type RateSource array{name: string, rate: string, taken_at: string}
 * @phpstan-type RecoveryEvent array{id: string, type: string, created_at: string, api_version: string, livemode: bool, checkout_id: string, sequence: int, data: EndedDisruption}
 * @phpstan-type References array{customer_ref: string|null, product_ref: string|null, order_ref: string|null, ambiguity_resolution_armed: bool}
 * @phpstan-type ReportCounts array{in: int, out: int, unconfirmed: int, credited: int, uncredited: int}
 * @phpstan-type ReportSettlement array{id: string, chain: string, token: string, amount: string, to: string, status: SettlementStatus, created_at: string, purpose: Purpose, tx_hash: string|null, explorer_url: string|null, settled_at: string|null, error: string|null}
 * @phpstan-type ReportSettlementList array{total?: int, limit: int, offset: int, data: list<ReportSettlement>}
 * @phpstan-type ReportSummary array{from: string, to: string, livemode: bool, inflow: string, outflow: string, net: string, unconfirmed: string, fees: string, counts: ReportCounts, balances: list<Held>, by_chain: list<ChainFlows>, by_day: list<DayFlows>, by_tag: list<TagFlows>}
 * @phpstan-type ReportTransaction array{id: string, direction: Direction, chain: string, token: string, amount: string, tx_hash: string, position: int, sender_address: string, recipient_address: string, status: TransferState, block_time: string, detected_at: string, confirmed_at: string|null, checkout_id: string|null, order_ref: string|null, wallet_id: string|null, kind: ReportTransactionKind, x402_payment_id: string|null, resource: string|null, fee: string|null, usd_value: string|null, explorer_url: string|null, payout_id: string|null, amount_refunded: string|null, price: string|null, price_currency: string|null}
 * @phpstan-type ReportTransactionKind 'checkout'|'x402'|'uncredited'|'other_token'|'watched'|'refund'|'payout'
 * @phpstan-type ReportTransactionList array{total?: int, limit: int, offset: int, data: list<ReportTransaction>}
 * @phpstan-type Requirements array{scheme: RequirementsScheme, network: string, maxAmountRequired: string, asset: string, resource: string}
 * @phpstan-type RequirementsScheme 'exact'
 * @phpstan-type Scope 'checkouts:read'|'checkouts:write'|'escrow:release'|'links:read'|'links:write'|'events:read'|'inbox:read'|'payouts:read'|'payouts:request'|'reports:read'|'terminals:read'|'terminals:write'|'wallets:read'|'wallets:write'|'webhooks:read'|'webhooks:write'|'x402:read'|'x402:verify'|'x402:settle'
 * @phpstan-type SettleBody SettleFunds|StandardPayment
 * @phpstan-type SettleFunds array{chain?: string, token?: string}
 * @phpstan-type Settled array{success: bool, transaction: string, network: string, payer?: string, amount?: string, extra?: SettledPaymentReference, errorReason?: string, errorMessage?: string, extensions?: array<string, mixed>}
 * @phpstan-type SettledPaymentReference array{paymentId: string}
 * @phpstan-type Settlement array{id: string, chain: string, token: string, amount: string, to: string, status: SettlementStatus, txHash: string|null, created_at: string}
 * @phpstan-type SettlementList array{settlements: list<Settlement>}
 * @phpstan-type SettlementStatus 'pending'|'sent'|'settled'|'failed'
 * @phpstan-type SignedOffers array{extension: array<string, mixed>, validUntil: int}
 * @phpstan-type StandardPayment array{x402Version: X402Version, paymentPayload: array<string, mixed>, paymentRequirements: array<string, mixed>, receiptFor?: string}
 * @phpstan-type Supported array{kinds: list<SupportedPayment>, extensions: list<string>, signers: array<string, list<string>>}
 * @phpstan-type SupportedPayment array{x402Version: X402Version, scheme: SupportedPaymentScheme, network: string, extra?: SupportedPaymentAccount}
 * @phpstan-type SupportedPaymentAccount array{feePayer?: string, facilitatorAddress?: string}
 * @phpstan-type SupportedPaymentScheme 'exact'|'upto'
 * @phpstan-type TagFlows array{tag: string, inflow: string, outflow: string, net: string, unconfirmed: string, count: int}
 * @phpstan-type Terminal array{id: string, name: string, currency: string, tips: list<int>, chain: string|null, chains: list<string>, shows_day: bool, has_sign: bool, sign_url: string|null, link_id: string|null, has_pin: bool, status: TerminalStatus, device: string|null, livemode: bool, created_at: string, paired_at: string|null, last_seen_at: string|null, revoked_at: string|null}
 * @phpstan-type TerminalList array{total?: int, limit: int, offset: int, data: list<Terminal>}
 * @phpstan-type TerminalPairing array{code: string, url: string, expires_at: string}
 * @phpstan-type TerminalSale array{checkout_id: string, amount: string, currency: string, tip: string, status: CheckoutStatus, exception: CheckoutException|null, accepted_by: string|null, is_by_customer: bool, created_at: string}
 * @phpstan-type TerminalSaleList array{total?: int, limit: int, offset: int, data: list<TerminalSale>}
 * @phpstan-type TerminalStatus 'unpaired'|'paired'|'revoked'
 * @phpstan-type TestDelivery array{id: string, event_id: string, status: DeliveryStatus, created_at: string}
 * @phpstan-type TestScenario 'completed'|'processing'|'underpaid'|'topped_up'|'part_paid'|'overpaid'|'extra'|'late'|'expired'|'reorg'|'reversed'
 * @phpstan-type TokenContract array{address: string, decimals: int}
 * @phpstan-type TransactionExplanation array{livemode: bool, source: TransactionSource, transactions: list<ExplainedTransaction>, unasked_chains: list<string>}
 * @phpstan-type TransactionMovement array{id: string|null, tx_hash: string, position: int, token: string|null, token_address: string|null, amount: string|null, sender_address: string, recipient_address: string, status: TransferState|null, in_doubt: bool, outcome: TransactionOutcome, explanation: string, checkout_id: string|null, replaces: string|null, x402_payment_id: string|null, refund_tx: string|null, inbox_items: list<InboxMention>}
 * @phpstan-type TransactionOutcome 'credited'|'accepted_late'|'x402'|'inbox'|'refunded'|'dismissed'|'unclaimed'|'undecided'|'reversed'|'unread'|'unsupported'|'elsewhere'
 * @phpstan-type TransactionSource 'records'|'nodes'
 * @phpstan-type TransactionStatus 'waiting'|'failed'|'mined'|'removed'
 * @phpstan-type TransferState 'detected'|'confirmed'|'orphaned'
 * @phpstan-type Verified array{isValid: bool, payer?: string, invalidReason?: string, invalidMessage?: string}
 * @phpstan-type VerifyAnswer array{valid: bool, txHash: string, verifiedAt?: string, paymentId?: string, confirmations?: int, reason?: VerifyAnswerReason, message?: string, retryAfter?: int|null}
 * @phpstan-type VerifyAnswerReason 'not_found'|'not_confirmed'|'failed_transaction'|'wrong_recipient'|'wrong_token'|'insufficient_amount'|'wrong_payer'|'wrong_chain'|'already_used'|'too_old'|'requirements_mismatch'
 * @phpstan-type VerifyBody VerifyPayment|StandardPayment
 * @phpstan-type VerifyPayment array{payment: Proof, requirements: Requirements}
 * @phpstan-type VerifyResult VerifyAnswer|Verified
 * @phpstan-type WatchedWallet array{id: string, chain: string, address: string, label: string, tags: list<string>, status: WatchedWalletStatus, balances: Balances, history: History, livemode: bool, created_at: string}
 * @phpstan-type WatchedWalletList array{total?: int, limit: int, offset: int, data: list<WatchedWallet>}
 * @phpstan-type WatchedWalletStatus 'importing'|'active'
 * @phpstan-type WebhookDelivery array{id: string, event_id: string, event_type: string, checkout_id: string, endpoint_id: string|null, url: string, status: DeliveryStatus, tries: int, next_attempt_at: string|null, finished_at: string|null, last_attempt: DeliveryAttempt|null, livemode: bool, created_at: string}
 * @phpstan-type WebhookDeliveryDetail array{id: string, event_id: string, event_type: string, checkout_id: string, endpoint_id: string|null, url: string, status: DeliveryStatus, tries: int, next_attempt_at: string|null, finished_at: string|null, last_attempt: DeliveryAttempt|null, livemode: bool, created_at: string, attempts: list<AnsweredAttempt>}
 * @phpstan-type WebhookDeliveryList array{total?: int, limit: int, offset: int, data: list<WebhookDelivery>}
 * @phpstan-type WebhookEndpoint array{id: string, url: string, name: string, events: list<'checkout.completed'|'checkout.expired'|'checkout.underpaid'|'checkout.reversed'|'checkout.restored'|'x402.payment.reversed'|'x402.payment.returned'|'gateway.restored'|'checkout.processing'|'checkout.transfer_confirmed'|'inbox.opened'|'inbox.closed'|'refund.claimed'|'refund.approved'|'refund.paid'|'refund.reversed'|'refund.ended'|'payout.claimed'|'payout.approved'|'payout.paid'|'payout.reversed'|'payout.ended'|'system.disrupted'|'system.recovered'>|null, enabled: bool, is_default: bool, health: EndpointHealth, failing_since: string|null, disabled_reason: string|null, livemode: bool, created_at: string}
 * @phpstan-type WebhookEndpointList array{total?: int, limit: int, offset: int, data: list<WebhookEndpoint>}
 * @phpstan-type WebhookEndpointSecret array{id: string, url: string, name: string, events: list<'checkout.completed'|'checkout.expired'|'checkout.underpaid'|'checkout.reversed'|'checkout.restored'|'x402.payment.reversed'|'x402.payment.returned'|'gateway.restored'|'checkout.processing'|'checkout.transfer_confirmed'|'inbox.opened'|'inbox.closed'|'refund.claimed'|'refund.approved'|'refund.paid'|'refund.reversed'|'refund.ended'|'payout.claimed'|'payout.approved'|'payout.paid'|'payout.reversed'|'payout.ended'|'system.disrupted'|'system.recovered'>|null, enabled: bool, is_default: bool, health: EndpointHealth, failing_since: string|null, disabled_reason: string|null, livemode: bool, created_at: string, secret: string}
 * @phpstan-type X402Config array{payTo: array<string, string>, networks: list<string>, assets: array<string, list<string>>, otherAssets?: array<string, list<OtherAsset>>, scheme: string, settlement: array<string, 'batch'|'direct'>, missing: list<MissingWallet>, requiresSignature: bool}
 * @phpstan-type X402Payment array{id: string, livemode: bool, protocol: Protocol, chain: string, token: string, amount: string, required_amount: string, txHash: string, position: int, payerAddress: string, payTo: string, signed: bool, resource: string, status: X402PaymentStatus, verified_at: string, final_at: string|null, settled_at: string|null, reversed_at: string|null}
 * @phpstan-type X402PaymentEvent array{id: string, type: string, created_at: string, api_version: string, livemode: bool, checkout_id: string, sequence: int, data: X402Payment}
 * @phpstan-type X402PaymentList array{total?: int, limit: int, offset: int, data: list<X402Payment>}
 * @phpstan-type X402PaymentStatus 'verified'|'settled'|'reversed'
 * @phpstan-type X402Version 1|2
 * @phpstan-type ListCheckoutsQuery array{created_after?: string, created_before?: string, customer_ref?: string, include_total?: bool, limit?: int, offset?: int, order_ref?: string, product_ref?: string, starting_after?: string, status?: 'completed'|'expired'|'pending'|'processing'|'underpaid'}
 * @phpstan-type ListEventsQuery array{after?: int, checkout_id?: string, include_total?: bool, limit?: int, offset?: int, starting_after?: string, type?: 'checkout.completed'|'checkout.expired'|'checkout.processing'|'checkout.restored'|'checkout.reversed'|'checkout.transfer_confirmed'|'checkout.underpaid'|'gateway.restored'|'inbox.closed'|'inbox.opened'|'payout.approved'|'payout.claimed'|'payout.ended'|'payout.paid'|'payout.reversed'|'refund.approved'|'refund.claimed'|'refund.ended'|'refund.paid'|'refund.reversed'|'system.disrupted'|'system.recovered'|'x402.payment.returned'|'x402.payment.reversed'}
 * @phpstan-type ListItemsInboxQuery array{chain?: string, checkout_id?: string, include_total?: bool, limit?: int, offset?: int, reason?: 'ambiguous'|'dust'|'extra'|'late'|'late_outage'|'reversed'|'rival'|'unmatched'|'wrong_network'|'wrong_token', starting_after?: string, status?: 'credited'|'dismissed'|'open'|'refunded'}
 * @phpstan-type ListLinkTemplatesQuery array{include_total?: bool, limit?: int, offset?: int, starting_after?: string}
 * @phpstan-type ListLinksQuery array{include_total?: bool, limit?: int, offset?: int, starting_after?: string, status?: 'active'|'archived'|'paused'}
 * @phpstan-type ListPayoutsQuery array{checkout_id?: string, created_after?: string, created_before?: string, inbox_item_id?: string, include_total?: bool, kind?: 'payout'|'refund', limit?: int, offset?: int, reference?: string, starting_after?: string, status?: 'approved'|'cancelled'|'expired'|'open'|'paid'|'requested'|'sending', transfer_id?: string, x402_payment_id?: string}
 * @phpstan-type ListRefundsQuery array{checkout_id?: string, created_after?: string, created_before?: string, inbox_item_id?: string, include_total?: bool, limit?: int, offset?: int, reference?: string, starting_after?: string, status?: 'approved'|'cancelled'|'expired'|'open'|'paid'|'requested'|'sending', transfer_id?: string, x402_payment_id?: string}
 * @phpstan-type ListSettlementsReportsQuery array{chain?: string, from?: string, include_total?: bool, limit?: int, offset?: int, starting_after?: string, to?: string}
 * @phpstan-type GetSummaryReportsQuery array{chain?: string, from?: string, tag?: string, to?: string}
 * @phpstan-type ListTransactionsReportsQuery array{chain?: string, direction?: 'in'|'out', from?: string, include_total?: bool, limit?: int, offset?: int, starting_after?: string, tag?: string, to?: string, token?: string, wallet?: string}
 * @phpstan-type ListTerminalsQuery array{include_total?: bool, limit?: int, offset?: int, starting_after?: string}
 * @phpstan-type ListSalesTerminalsQuery array{include_total?: bool, limit?: int, offset?: int, starting_after?: string}
 * @phpstan-type GetTransactionsQuery array{chain?: string}
 * @phpstan-type ListWalletsQuery array{chain?: string, include_total?: bool, limit?: int, offset?: int, starting_after?: string, tag?: string}
 * @phpstan-type ListTransactionsWalletsQuery array{direction?: 'in'|'out', from?: string, include_total?: bool, limit?: int, offset?: int, starting_after?: string, to?: string, token?: string}
 * @phpstan-type ListWebhookDeliveriesQuery array{checkout_id?: string, endpoint_id?: string, event_id?: string, event_type?: 'checkout.completed'|'checkout.expired'|'checkout.processing'|'checkout.restored'|'checkout.reversed'|'checkout.transfer_confirmed'|'checkout.underpaid'|'gateway.restored'|'inbox.closed'|'inbox.opened'|'payout.approved'|'payout.claimed'|'payout.ended'|'payout.paid'|'payout.reversed'|'refund.approved'|'refund.claimed'|'refund.ended'|'refund.paid'|'refund.reversed'|'system.disrupted'|'system.recovered'|'x402.payment.returned'|'x402.payment.reversed', include_total?: bool, limit?: int, offset?: int, starting_after?: string, status?: 'cancelled'|'delivered'|'failed'|'failing'|'held'|'pending'}
 * @phpstan-type ListWebhookEndpointsQuery array{include_total?: bool, limit?: int, offset?: int, starting_after?: string}
 * @phpstan-type ListPaymentsX402Query array{chain?: string, created_after?: string, created_before?: string, include_total?: bool, limit?: int, offset?: int, resource?: string, starting_after?: string, status?: 'reversed'|'settled'|'verified', token?: string}
 */
final class Types
{
}
