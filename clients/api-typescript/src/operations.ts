// The API's operations, by resource. Written by script/clients.

import { Resource, type KeyOption } from "./calls.js";
import { type Pages } from "./pages.js";
import type * as t from "./types.js";

/** Operations of `/chains`. */
export class Chains extends Resource {
  /** List supported chains. */
  list(): Promise<t.ChainList> {
    return this.call("GET", ["/chains"], {});
  }
}

/** Operations of `/checkouts`. */
export class Checkouts extends Resource {
  /** List checkouts. Needs the scope `checkouts:read`. */
  list(query: t.ListCheckoutsQuery = {}): Pages<t.Checkout> {
    return this.pages(["/checkouts"], query);
  }

  /** Create a checkout. Needs the scope `checkouts:write`. */
  create(body: t.NewCheckout, options: KeyOption = {}): Promise<t.CreatedCheckout> {
    return this.call("POST", ["/checkouts"], { body, key: options.idempotencyKey, own: "order_ref", takesKey: true });
  }

  /** Get a checkout. Needs the scope `checkouts:read`. */
  get(checkoutId: string): Promise<t.Checkout> {
    return this.call("GET", ["/checkouts/{}", checkoutId], {});
  }

  /** Pay without a network fee. Needs the scope `checkouts:write`. */
  authorizePayment(checkoutId: string, body: t.PaymentAuthorization = {}, options: KeyOption = {}): Promise<t.AuthorizedPayment> {
    return this.call("POST", ["/checkouts/{}/authorization", checkoutId], { body, key: options.idempotencyKey, takesKey: true });
  }

  /** Cancel an unpaid checkout. Needs the scope `checkouts:write`. */
  cancel(checkoutId: string, options: KeyOption = {}): Promise<t.Checkout> {
    return this.call("POST", ["/checkouts/{}/cancel", checkoutId], { key: options.idempotencyKey, takesKey: true });
  }

  /** Choose a chain and token. Needs the scope `checkouts:write`. */
  chooseOption(checkoutId: string, body: t.OptionChoice, options: KeyOption = {}): Promise<t.ChainOption> {
    return this.call("POST", ["/checkouts/{}/options", checkoutId], { body, key: options.idempotencyKey, takesKey: true });
  }

  /** Get a signed receipt. Needs the scope `checkouts:read`. */
  getReceipt(checkoutId: string): Promise<Uint8Array> {
    return this.call("GET", ["/checkouts/{}/receipt", checkoutId], { raw: true });
  }

  /** Release escrow. Needs the scope `escrow:release`. */
  release(checkoutId: string, options: KeyOption = {}): Promise<t.Checkout> {
    return this.call("POST", ["/checkouts/{}/release", checkoutId], { key: options.idempotencyKey, takesKey: true });
  }

  /** Advance a test checkout. Needs the scope `checkouts:write`. */
  advance(checkoutId: string, body: t.Advance = {}, options: KeyOption = {}): Promise<t.Checkout> {
    return this.call("POST", ["/test/checkouts/{}/advance", checkoutId], { body, key: options.idempotencyKey, takesKey: true });
  }
}

/** Operations of `/currencies`. */
export class Currencies extends Resource {
  /** List currencies of prices. */
  list(): Promise<t.CurrencyList> {
    return this.call("GET", ["/currencies"], {});
  }
}

/** Operations of `/disruptions`. */
export class Disruptions extends Resource {
  /** List what disrupts your payments now. Needs the scope `checkouts:read`. */
  list(): Promise<t.ActiveDisruptionList> {
    return this.call("GET", ["/disruptions"], {});
  }
}

/** Operations of `/events`. */
export class Events extends Resource {
  /** List events. Needs the scope `events:read`. */
  list(query: t.ListEventsQuery = {}): Pages<t.EventBody> {
    return this.pages(["/events"], query);
  }

  /** Get an event. Needs the scope `events:read`. */
  get(eventId: string): Promise<t.EventBody> {
    return this.call("GET", ["/events/{}", eventId], {});
  }
}

/** Operations of `/inbox`. */
export class Inbox extends Resource {
  /** List inbox items. Needs the scope `inbox:read`. */
  listItems(query: t.ListItemsInboxQuery = {}): Pages<t.InboxItem> {
    return this.pages(["/inbox"], query);
  }

  /** Get an inbox item. Needs the scope `inbox:read`. */
  getItem(itemId: string): Promise<t.InboxItem> {
    return this.call("GET", ["/inbox/{}", itemId], {});
  }
}

/** Operations of `/key`. */
export class Key extends Resource {
  /** Get the key of this request. */
  get(): Promise<t.KeyBody> {
    return this.call("GET", ["/key"], {});
  }
}

/** Operations of `/link_templates`. */
export class LinkTemplates extends Resource {
  /** List link templates. Needs the scope `links:read`. */
  list(query: t.ListLinkTemplatesQuery = {}): Pages<t.LinkTemplate> {
    return this.pages(["/link_templates"], query);
  }

  /** Create a link template. Needs the scope `links:write`. */
  create(body: t.NewLinkTemplate, options: KeyOption = {}): Promise<t.LinkTemplate> {
    return this.call("POST", ["/link_templates"], { body, key: options.idempotencyKey, takesKey: true });
  }

  /** Get a link template. Needs the scope `links:read`. */
  get(templateId: string): Promise<t.LinkTemplate> {
    return this.call("GET", ["/link_templates/{}", templateId], {});
  }

  /** Delete a link template. Needs the scope `links:write`. */
  delete(templateId: string): Promise<t.DeletedTemplate> {
    return this.call("DELETE", ["/link_templates/{}", templateId], {});
  }
}

/** Operations of `/links`. */
export class Links extends Resource {
  /** List payment links. Needs the scope `links:read`. */
  list(query: t.ListLinksQuery = {}): Pages<t.PaymentLink> {
    return this.pages(["/links"], query);
  }

  /** Create a payment link. Needs the scope `links:write`. */
  create(body: t.NewLink = {}, options: KeyOption = {}): Promise<t.PaymentLink> {
    return this.call("POST", ["/links"], { body, key: options.idempotencyKey, takesKey: true });
  }

  /** Get a payment link. Needs the scope `links:read`. */
  get(linkId: string): Promise<t.PaymentLink> {
    return this.call("GET", ["/links/{}", linkId], {});
  }

  /** Update a payment link. Needs the scope `links:write`. */
  change(linkId: string, body: t.PatchedLinkChanges = {}): Promise<t.PaymentLink> {
    return this.call("PATCH", ["/links/{}", linkId], { body });
  }

  /** Get a link's QR code as PNG. Needs the scope `links:read`. */
  getQrPng(linkId: string): Promise<Uint8Array> {
    return this.call("GET", ["/links/{}/qr.png", linkId], { raw: true });
  }

  /** Get a link's QR code as SVG. Needs the scope `links:read`. */
  getQrSvg(linkId: string): Promise<Uint8Array> {
    return this.call("GET", ["/links/{}/qr.svg", linkId], { raw: true });
  }

  /** Pause, archive or activate a link. Needs the scope `links:write`. */
  setStatus(linkId: string, body: t.PatchedNewLinkStatus = {}): Promise<t.PaymentLink> {
    return this.call("PATCH", ["/links/{}/status", linkId], { body });
  }
}

/** Operations of `/payouts`. */
export class Payouts extends Resource {
  /** List payouts. Needs the scope `payouts:read`. */
  list(query: t.ListPayoutsQuery = {}): Pages<t.Payout> {
    return this.pages(["/payouts"], query);
  }

  /** Create a payout. Needs the scope `payouts:request`. */
  create(body: t.NewPayout, options: KeyOption = {}): Promise<t.Payout> {
    return this.call("POST", ["/payouts"], { body, key: options.idempotencyKey, own: "reference", takesKey: true });
  }

  /** Get a payout. Needs the scope `payouts:read`. */
  get(payoutId: string): Promise<t.Payout> {
    return this.call("GET", ["/payouts/{}", payoutId], {});
  }

  /** Set a payout's address. Needs the scope `payouts:request`. */
  setAddress(payoutId: string, body: t.NewAddress, options: KeyOption = {}): Promise<t.Payout> {
    return this.call("POST", ["/payouts/{}/address", payoutId], { body, key: options.idempotencyKey, takesKey: true });
  }

  /** Cancel a payout. Needs the scope `payouts:request`. */
  cancel(payoutId: string, options: KeyOption = {}): Promise<t.Payout> {
    return this.call("POST", ["/payouts/{}/cancel", payoutId], { key: options.idempotencyKey, takesKey: true });
  }
}

/** Operations of `/refunds`. */
export class Refunds extends Resource {
  /** List refunds. Needs the scope `payouts:read`. */
  list(query: t.ListRefundsQuery = {}): Pages<t.Payout> {
    return this.pages(["/refunds"], query);
  }

  /** Create a refund. Needs the scope `payouts:request`. */
  create(body: t.NewRefund, options: KeyOption = {}): Promise<t.Payout> {
    return this.call("POST", ["/refunds"], { body, key: options.idempotencyKey, own: "reference", takesKey: true });
  }

  /** Get a refund. Needs the scope `payouts:read`. */
  get(payoutId: string): Promise<t.Payout> {
    return this.call("GET", ["/refunds/{}", payoutId], {});
  }

  /** Set a refund's address. Needs the scope `payouts:request`. */
  setAddress(payoutId: string, body: t.NewAddress, options: KeyOption = {}): Promise<t.Payout> {
    return this.call("POST", ["/refunds/{}/address", payoutId], { body, key: options.idempotencyKey, takesKey: true });
  }

  /** Cancel a refund. Needs the scope `payouts:request`. */
  cancel(payoutId: string, options: KeyOption = {}): Promise<t.Payout> {
    return this.call("POST", ["/refunds/{}/cancel", payoutId], { key: options.idempotencyKey, takesKey: true });
  }
}

/** Operations of `/reports`. */
export class Reports extends Resource {
  /** List settlements. Needs the scope `reports:read`. */
  listSettlements(query: t.ListSettlementsReportsQuery = {}): Pages<t.ReportSettlement> {
    return this.pages(["/reports/settlements"], query);
  }

  /** Get totals. Needs the scope `reports:read`. */
  getSummary(query: t.GetSummaryReportsQuery = {}): Promise<t.ReportSummary> {
    return this.call("GET", ["/reports/summary"], { query });
  }

  /** List transactions. Needs the scope `reports:read`. */
  listTransactions(query: t.ListTransactionsReportsQuery = {}): Pages<t.ReportTransaction> {
    return this.pages(["/reports/transactions"], query);
  }
}

/** Operations of `/terminals`. */
export class Terminals extends Resource {
  /** List terminals. Needs the scope `terminals:read`. */
  list(query: t.ListTerminalsQuery = {}): Pages<t.Terminal> {
    return this.pages(["/terminals"], query);
  }

  /** Create a terminal. Needs the scope `terminals:write`. */
  create(body: t.NewTerminal, options: KeyOption = {}): Promise<t.Terminal> {
    return this.call("POST", ["/terminals"], { body, key: options.idempotencyKey, takesKey: true });
  }

  /** Get a terminal. Needs the scope `terminals:read`. */
  get(terminalId: string): Promise<t.Terminal> {
    return this.call("GET", ["/terminals/{}", terminalId], {});
  }

  /** Make a code that pairs a device. Needs the scope `terminals:write`. */
  pair(terminalId: string, options: KeyOption = {}): Promise<t.TerminalPairing> {
    return this.call("POST", ["/terminals/{}/pair", terminalId], { key: options.idempotencyKey, takesKey: true });
  }

  /** Revoke a terminal. Needs the scope `terminals:write`. */
  revoke(terminalId: string, options: KeyOption = {}): Promise<t.Terminal> {
    return this.call("POST", ["/terminals/{}/revoke", terminalId], { key: options.idempotencyKey, takesKey: true });
  }

  /** List a terminal's sales. Needs the scope `terminals:read`. */
  listSales(terminalId: string, query: t.ListSalesTerminalsQuery = {}): Pages<t.TerminalSale> {
    return this.pages(["/terminals/{}/sales", terminalId], query);
  }
}

/** Operations of `/transactions`. */
export class Transactions extends Resource {
  /** Get what became of a transaction. Needs the scope `checkouts:read`. */
  get(txHash: string, query: t.GetTransactionsQuery = {}): Promise<t.TransactionExplanation> {
    return this.call("GET", ["/transactions/{}", txHash], { query });
  }
}

/** Operations of `/waitlist`. */
export class Waitlist extends Resource {
  /** Join the waitlist for card payments. */
  joinFiat(body: t.NewFiatInterest, options: KeyOption = {}): Promise<t.FiatInterest> {
    return this.call("POST", ["/waitlist/fiat"], { body, key: options.idempotencyKey, takesKey: true });
  }
}

/** Operations of `/wallets`. */
export class Wallets extends Resource {
  /** List watched wallets. Needs the scope `wallets:read`. */
  list(query: t.ListWalletsQuery = {}): Pages<t.WatchedWallet> {
    return this.pages(["/wallets"], query);
  }

  /** Watch a wallet. Needs the scope `wallets:write`. */
  watch(body: t.NewWatchedWallet, options: KeyOption = {}): Promise<t.WatchedWallet> {
    return this.call("POST", ["/wallets"], { body, key: options.idempotencyKey, takesKey: true });
  }

  /** Get a watched wallet. Needs the scope `wallets:read`. */
  get(walletId: string): Promise<t.WatchedWallet> {
    return this.call("GET", ["/wallets/{}", walletId], {});
  }

  /** Update a watched wallet. Needs the scope `wallets:write`. */
  change(walletId: string, body: t.PatchedWatchedWalletChanges = {}): Promise<t.WatchedWallet> {
    return this.call("PATCH", ["/wallets/{}", walletId], { body });
  }

  /** Stop watching a wallet. Needs the scope `wallets:write`. */
  unwatch(walletId: string): Promise<null> {
    return this.call("DELETE", ["/wallets/{}", walletId], {});
  }

  /** List a watched wallet's transactions. Needs the scope `wallets:read`. */
  listTransactions(walletId: string, query: t.ListTransactionsWalletsQuery = {}): Pages<t.Movement> {
    return this.pages(["/wallets/{}/transactions", walletId], query);
  }
}

/** Operations of `/webhook_deliveries`. */
export class WebhookDeliveries extends Resource {
  /** List webhook deliveries. Needs the scope `webhooks:read`. */
  list(query: t.ListWebhookDeliveriesQuery = {}): Pages<t.WebhookDelivery> {
    return this.pages(["/webhook_deliveries"], query);
  }

  /** Get a webhook delivery. Needs the scope `webhooks:read`. */
  get(deliveryId: string): Promise<t.WebhookDeliveryDetail> {
    return this.call("GET", ["/webhook_deliveries/{}", deliveryId], {});
  }
}

/** Operations of `/webhook_endpoints`. */
export class WebhookEndpoints extends Resource {
  /** List webhook endpoints. Needs the scope `webhooks:read`. */
  list(query: t.ListWebhookEndpointsQuery = {}): Pages<t.WebhookEndpoint> {
    return this.pages(["/webhook_endpoints"], query);
  }

  /** Create a webhook endpoint. Needs the scope `webhooks:write`. */
  create(body: t.NewWebhookEndpoint, options: KeyOption = {}): Promise<t.WebhookEndpointSecret> {
    return this.call("POST", ["/webhook_endpoints"], { body, key: options.idempotencyKey, takesKey: true });
  }

  /** Get a webhook endpoint. Needs the scope `webhooks:read`. */
  get(endpointId: string): Promise<t.WebhookEndpoint> {
    return this.call("GET", ["/webhook_endpoints/{}", endpointId], {});
  }

  /** Update a webhook endpoint. Needs the scope `webhooks:write`. */
  change(endpointId: string, body: t.PatchedWebhookEndpointChanges = {}): Promise<t.WebhookEndpoint> {
    return this.call("PATCH", ["/webhook_endpoints/{}", endpointId], { body });
  }

  /** Delete a webhook endpoint. Needs the scope `webhooks:write`. */
  delete(endpointId: string): Promise<null> {
    return this.call("DELETE", ["/webhook_endpoints/{}", endpointId], {});
  }

  /** Rotate the secret of a webhook endpoint. Needs the scope `webhooks:write`. */
  rotateSecret(endpointId: string, options: KeyOption = {}): Promise<t.WebhookEndpointSecret> {
    return this.call("POST", ["/webhook_endpoints/{}/rotate_secret", endpointId], { key: options.idempotencyKey, takesKey: true });
  }

  /** Send a test event. Needs the scope `webhooks:write`. */
  test(endpointId: string, options: KeyOption = {}): Promise<t.TestDelivery> {
    return this.call("POST", ["/webhook_endpoints/{}/test", endpointId], { key: options.idempotencyKey, takesKey: true });
  }
}

/** Operations of `/x402`. */
export class X402 extends Resource {
  /** Get the x402 configuration. Needs the scope `x402:verify`. */
  getConfig(): Promise<t.X402Config> {
    return this.call("GET", ["/x402/config"], {});
  }

  /** Sign x402 offers. Needs the scope `x402:verify`. */
  signOffers(body: t.OfferedResource, options: KeyOption = {}): Promise<t.SignedOffers> {
    return this.call("POST", ["/x402/offers"], { body, key: options.idempotencyKey, takesKey: true });
  }

  /** List x402 payments. Needs the scope `x402:read`. */
  listPayments(query: t.ListPaymentsX402Query = {}): Pages<t.X402Payment> {
    return this.pages(["/x402/payments"], query);
  }

  /** Settle an x402 payment, or send on what was collected. Needs the scope `x402:settle`. */
  settlePayment(body: t.SettleBody, options: KeyOption = {}): Promise<t.Settled | t.SettlementList> {
    return this.call("POST", ["/x402/settle"], { body, key: options.idempotencyKey, takesKey: true });
  }

  /** List supported x402 payment kinds. Needs the scope `x402:verify`. */
  getSupported(): Promise<t.Supported> {
    return this.call("GET", ["/x402/supported"], {});
  }

  /** Verify an x402 payment. Needs the scope `x402:verify`. */
  verifyPayment(body: t.VerifyBody, options: KeyOption = {}): Promise<t.VerifyResult> {
    return this.call("POST", ["/x402/verify"], { body, key: options.idempotencyKey, takesKey: true });
  }
}

/** All resources. */
export class Operations {
  readonly chains: Chains;
  readonly checkouts: Checkouts;
  readonly currencies: Currencies;
  readonly disruptions: Disruptions;
  readonly events: Events;
  readonly inbox: Inbox;
  readonly key: Key;
  readonly linkTemplates: LinkTemplates;
  readonly links: Links;
  readonly payouts: Payouts;
  readonly refunds: Refunds;
  readonly reports: Reports;
  readonly terminals: Terminals;
  readonly transactions: Transactions;
  readonly waitlist: Waitlist;
  readonly wallets: Wallets;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly webhookEndpoints: WebhookEndpoints;
  readonly x402: X402;

  constructor(resource: Resource) {
    this.chains = new Chains(resource.caller);
    this.checkouts = new Checkouts(resource.caller);
    this.currencies = new Currencies(resource.caller);
    this.disruptions = new Disruptions(resource.caller);
    this.events = new Events(resource.caller);
    this.inbox = new Inbox(resource.caller);
    this.key = new Key(resource.caller);
    this.linkTemplates = new LinkTemplates(resource.caller);
    this.links = new Links(resource.caller);
    this.payouts = new Payouts(resource.caller);
    this.refunds = new Refunds(resource.caller);
    this.reports = new Reports(resource.caller);
    this.terminals = new Terminals(resource.caller);
    this.transactions = new Transactions(resource.caller);
    this.waitlist = new Waitlist(resource.caller);
    this.wallets = new Wallets(resource.caller);
    this.webhookDeliveries = new WebhookDeliveries(resource.caller);
    this.webhookEndpoints = new WebhookEndpoints(resource.caller);
    this.x402 = new X402(resource.caller);
  }
}
