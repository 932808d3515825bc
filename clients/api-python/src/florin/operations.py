"""The API's operations, by resource. Written by script/clients."""

# mypy: disable-error-code="no-any-return"

from typing import Unpack

from florin import types as t
from florin.calls import Resource
from florin.pages import Pages


class Chains(Resource):
    """Operations of `/chains`."""

    def list(self) -> t.ChainList:
        """List supported chains."""
        return self._call("GET", ("/chains",))


class Checkouts(Resource):
    """Operations of `/checkouts`."""

    def list(self, **query: Unpack[t.ListCheckoutsQuery]) -> Pages[t.Checkout]:
        """List checkouts. Needs the scope `checkouts:read`."""
        return self._pages(("/checkouts",), query)

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewCheckout]) -> t.CreatedCheckout:
        """Create a checkout. Needs the scope `checkouts:write`."""
        return self._call("POST", ("/checkouts",), key=idempotency_key, body=body, own="order_ref", takes_key=True)

    def get(self, checkout_id: str) -> t.Checkout:
        """Get a checkout. Needs the scope `checkouts:read`."""
        return self._call("GET", ("/checkouts/{}", checkout_id))

    def authorize_payment(
        self, checkout_id: str, *, idempotency_key: str | None = None, **body: Unpack[t.PaymentAuthorization]
    ) -> t.AuthorizedPayment:
        """Pay without a network fee. Needs the scope `checkouts:write`."""
        return self._call(
            "POST", ("/checkouts/{}/authorization", checkout_id), key=idempotency_key, body=body, takes_key=True
        )

    def cancel(self, checkout_id: str, *, idempotency_key: str | None = None) -> t.Checkout:
        """Cancel an unpaid checkout. Needs the scope `checkouts:write`."""
        return self._call("POST", ("/checkouts/{}/cancel", checkout_id), key=idempotency_key, takes_key=True)

    def choose_option(
        self, checkout_id: str, *, idempotency_key: str | None = None, **body: Unpack[t.OptionChoice]
    ) -> t.ChainOption:
        """Choose a chain and token. Needs the scope `checkouts:write`."""
        return self._call(
            "POST", ("/checkouts/{}/options", checkout_id), key=idempotency_key, body=body, takes_key=True
        )

    def get_receipt(self, checkout_id: str) -> bytes:
        """Get a signed receipt. Needs the scope `checkouts:read`."""
        return self._call("GET", ("/checkouts/{}/receipt", checkout_id), raw=True)

    def release(self, checkout_id: str, *, idempotency_key: str | None = None) -> t.Checkout:
        """Release escrow. Needs the scope `escrow:release`."""
        return self._call("POST", ("/checkouts/{}/release", checkout_id), key=idempotency_key, takes_key=True)

    def advance(self, checkout_id: str, *, idempotency_key: str | None = None, **body: Unpack[t.Advance]) -> t.Checkout:
        """Advance a test checkout. Needs the scope `checkouts:write`."""
        return self._call(
            "POST", ("/test/checkouts/{}/advance", checkout_id), key=idempotency_key, body=body, takes_key=True
        )


class Currencies(Resource):
    """Operations of `/currencies`."""

    def list(self) -> t.CurrencyList:
        """List currencies of prices."""
        return self._call("GET", ("/currencies",))


class Disruptions(Resource):
    """Operations of `/disruptions`."""

    def list(self) -> t.ActiveDisruptionList:
        """List what disrupts your payments now. Needs the scope `checkouts:read`."""
        return self._call("GET", ("/disruptions",))


class Events(Resource):
    """Operations of `/events`."""

    def list(self, **query: Unpack[t.ListEventsQuery]) -> Pages[t.EventBody]:
        """List events. Needs the scope `events:read`."""
        return self._pages(("/events",), query)

    def get(self, event_id: str) -> t.EventBody:
        """Get an event. Needs the scope `events:read`."""
        return self._call("GET", ("/events/{}", event_id))


class Inbox(Resource):
    """Operations of `/inbox`."""

    def list_items(self, **query: Unpack[t.ListItemsInboxQuery]) -> Pages[t.InboxItem]:
        """List inbox items. Needs the scope `inbox:read`."""
        return self._pages(("/inbox",), query)

    def get_item(self, item_id: str) -> t.InboxItem:
        """Get an inbox item. Needs the scope `inbox:read`."""
        return self._call("GET", ("/inbox/{}", item_id))


class Key(Resource):
    """Operations of `/key`."""

    def get(self) -> t.KeyBody:
        """Get the key of this request."""
        return self._call("GET", ("/key",))


class LinkTemplates(Resource):
    """Operations of `/link_templates`."""

    def list(self, **query: Unpack[t.ListLinkTemplatesQuery]) -> Pages[t.LinkTemplate]:
        """List link templates. Needs the scope `links:read`."""
        return self._pages(("/link_templates",), query)

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewLinkTemplate]) -> t.LinkTemplate:
        """Create a link template. Needs the scope `links:write`."""
        return self._call("POST", ("/link_templates",), key=idempotency_key, body=body, takes_key=True)

    def get(self, template_id: str) -> t.LinkTemplate:
        """Get a link template. Needs the scope `links:read`."""
        return self._call("GET", ("/link_templates/{}", template_id))

    def delete(self, template_id: str) -> t.DeletedTemplate:
        """Delete a link template. Needs the scope `links:write`."""
        return self._call("DELETE", ("/link_templates/{}", template_id))


class Links(Resource):
    """Operations of `/links`."""

    def list(self, **query: Unpack[t.ListLinksQuery]) -> Pages[t.PaymentLink]:
        """List payment links. Needs the scope `links:read`."""
        return self._pages(("/links",), query)

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewLink]) -> t.PaymentLink:
        """Create a payment link. Needs the scope `links:write`."""
        return self._call("POST", ("/links",), key=idempotency_key, body=body, takes_key=True)

    def get(self, link_id: str) -> t.PaymentLink:
        """Get a payment link. Needs the scope `links:read`."""
        return self._call("GET", ("/links/{}", link_id))

    def change(self, link_id: str, **body: Unpack[t.PatchedLinkChanges]) -> t.PaymentLink:
        """Update a payment link. Needs the scope `links:write`."""
        return self._call("PATCH", ("/links/{}", link_id), body=body)

    def get_qr_png(self, link_id: str) -> bytes:
        """Get a link's QR code as PNG. Needs the scope `links:read`."""
        return self._call("GET", ("/links/{}/qr.png", link_id), raw=True)

    def get_qr_svg(self, link_id: str) -> bytes:
        """Get a link's QR code as SVG. Needs the scope `links:read`."""
        return self._call("GET", ("/links/{}/qr.svg", link_id), raw=True)

    def set_status(self, link_id: str, **body: Unpack[t.PatchedNewLinkStatus]) -> t.PaymentLink:
        """Pause, archive or activate a link. Needs the scope `links:write`."""
        return self._call("PATCH", ("/links/{}/status", link_id), body=body)


class Payouts(Resource):
    """Operations of `/payouts`."""

    def list(self, **query: Unpack[t.ListPayoutsQuery]) -> Pages[t.Payout]:
        """List payouts. Needs the scope `payouts:read`."""
        return self._pages(("/payouts",), query)

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewPayout]) -> t.Payout:
        """Create a payout. Needs the scope `payouts:request`."""
        return self._call("POST", ("/payouts",), key=idempotency_key, body=body, own="reference", takes_key=True)

    def get(self, payout_id: str) -> t.Payout:
        """Get a payout. Needs the scope `payouts:read`."""
        return self._call("GET", ("/payouts/{}", payout_id))

    def set_address(
        self, payout_id: str, *, idempotency_key: str | None = None, **body: Unpack[t.NewAddress]
    ) -> t.Payout:
        """Set a payout's address. Needs the scope `payouts:request`."""
        return self._call("POST", ("/payouts/{}/address", payout_id), key=idempotency_key, body=body, takes_key=True)

    def cancel(self, payout_id: str, *, idempotency_key: str | None = None) -> t.Payout:
        """Cancel a payout. Needs the scope `payouts:request`."""
        return self._call("POST", ("/payouts/{}/cancel", payout_id), key=idempotency_key, takes_key=True)


class Refunds(Resource):
    """Operations of `/refunds`."""

    def list(self, **query: Unpack[t.ListRefundsQuery]) -> Pages[t.Payout]:
        """List refunds. Needs the scope `payouts:read`."""
        return self._pages(("/refunds",), query)

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewRefund]) -> t.Payout:
        """Create a refund. Needs the scope `payouts:request`."""
        return self._call("POST", ("/refunds",), key=idempotency_key, body=body, own="reference", takes_key=True)

    def get(self, payout_id: str) -> t.Payout:
        """Get a refund. Needs the scope `payouts:read`."""
        return self._call("GET", ("/refunds/{}", payout_id))

    def set_address(
        self, payout_id: str, *, idempotency_key: str | None = None, **body: Unpack[t.NewAddress]
    ) -> t.Payout:
        """Set a refund's address. Needs the scope `payouts:request`."""
        return self._call("POST", ("/refunds/{}/address", payout_id), key=idempotency_key, body=body, takes_key=True)

    def cancel(self, payout_id: str, *, idempotency_key: str | None = None) -> t.Payout:
        """Cancel a refund. Needs the scope `payouts:request`."""
        return self._call("POST", ("/refunds/{}/cancel", payout_id), key=idempotency_key, takes_key=True)


class Reports(Resource):
    """Operations of `/reports`."""

    def list_settlements(self, **query: Unpack[t.ListSettlementsReportsQuery]) -> Pages[t.ReportSettlement]:
        """List settlements. Needs the scope `reports:read`."""
        return self._pages(("/reports/settlements",), query)

    def get_summary(self, **query: Unpack[t.GetSummaryReportsQuery]) -> t.ReportSummary:
        """Get totals. Needs the scope `reports:read`."""
        return self._call("GET", ("/reports/summary",), query=query)

    def list_transactions(self, **query: Unpack[t.ListTransactionsReportsQuery]) -> Pages[t.ReportTransaction]:
        """List transactions. Needs the scope `reports:read`."""
        return self._pages(("/reports/transactions",), query)


class Terminals(Resource):
    """Operations of `/terminals`."""

    def list(self, **query: Unpack[t.ListTerminalsQuery]) -> Pages[t.Terminal]:
        """List terminals. Needs the scope `terminals:read`."""
        return self._pages(("/terminals",), query)

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewTerminal]) -> t.Terminal:
        """Create a terminal. Needs the scope `terminals:write`."""
        return self._call("POST", ("/terminals",), key=idempotency_key, body=body, takes_key=True)

    def get(self, terminal_id: str) -> t.Terminal:
        """Get a terminal. Needs the scope `terminals:read`."""
        return self._call("GET", ("/terminals/{}", terminal_id))

    def pair(self, terminal_id: str, *, idempotency_key: str | None = None) -> t.TerminalPairing:
        """Make a code that pairs a device. Needs the scope `terminals:write`."""
        return self._call("POST", ("/terminals/{}/pair", terminal_id), key=idempotency_key, takes_key=True)

    def revoke(self, terminal_id: str, *, idempotency_key: str | None = None) -> t.Terminal:
        """Revoke a terminal. Needs the scope `terminals:write`."""
        return self._call("POST", ("/terminals/{}/revoke", terminal_id), key=idempotency_key, takes_key=True)

    def list_sales(self, terminal_id: str, **query: Unpack[t.ListSalesTerminalsQuery]) -> Pages[t.TerminalSale]:
        """List a terminal's sales. Needs the scope `terminals:read`."""
        return self._pages(("/terminals/{}/sales", terminal_id), query)


class Transactions(Resource):
    """Operations of `/transactions`."""

    def get(self, tx_hash: str, **query: Unpack[t.GetTransactionsQuery]) -> t.TransactionExplanation:
        """Get what became of a transaction. Needs the scope `checkouts:read`."""
        return self._call("GET", ("/transactions/{}", tx_hash), query=query)


class Waitlist(Resource):
    """Operations of `/waitlist`."""

    def join_fiat(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewFiatInterest]) -> t.FiatInterest:
        """Join the waitlist for card payments."""
        return self._call("POST", ("/waitlist/fiat",), key=idempotency_key, body=body, takes_key=True)


class Wallets(Resource):
    """Operations of `/wallets`."""

    def list(self, **query: Unpack[t.ListWalletsQuery]) -> Pages[t.WatchedWallet]:
        """List watched wallets. Needs the scope `wallets:read`."""
        return self._pages(("/wallets",), query)

    def watch(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewWatchedWallet]) -> t.WatchedWallet:
        """Watch a wallet. Needs the scope `wallets:write`."""
        return self._call("POST", ("/wallets",), key=idempotency_key, body=body, takes_key=True)

    def get(self, wallet_id: str) -> t.WatchedWallet:
        """Get a watched wallet. Needs the scope `wallets:read`."""
        return self._call("GET", ("/wallets/{}", wallet_id))

    def change(self, wallet_id: str, **body: Unpack[t.PatchedWatchedWalletChanges]) -> t.WatchedWallet:
        """Update a watched wallet. Needs the scope `wallets:write`."""
        return self._call("PATCH", ("/wallets/{}", wallet_id), body=body)

    def unwatch(self, wallet_id: str) -> None:
        """Stop watching a wallet. Needs the scope `wallets:write`."""
        self._call("DELETE", ("/wallets/{}", wallet_id))

    def list_transactions(self, wallet_id: str, **query: Unpack[t.ListTransactionsWalletsQuery]) -> Pages[t.Movement]:
        """List a watched wallet's transactions. Needs the scope `wallets:read`."""
        return self._pages(("/wallets/{}/transactions", wallet_id), query)


class WebhookDeliveries(Resource):
    """Operations of `/webhook_deliveries`."""

    def list(self, **query: Unpack[t.ListWebhookDeliveriesQuery]) -> Pages[t.WebhookDelivery]:
        """List webhook deliveries. Needs the scope `webhooks:read`."""
        return self._pages(("/webhook_deliveries",), query)

    def get(self, delivery_id: str) -> t.WebhookDeliveryDetail:
        """Get a webhook delivery. Needs the scope `webhooks:read`."""
        return self._call("GET", ("/webhook_deliveries/{}", delivery_id))


class WebhookEndpoints(Resource):
    """Operations of `/webhook_endpoints`."""

    def list(self, **query: Unpack[t.ListWebhookEndpointsQuery]) -> Pages[t.WebhookEndpoint]:
        """List webhook endpoints. Needs the scope `webhooks:read`."""
        return self._pages(("/webhook_endpoints",), query)

    def create(
        self, *, idempotency_key: str | None = None, **body: Unpack[t.NewWebhookEndpoint]
    ) -> t.WebhookEndpointSecret:
        """Create a webhook endpoint. Needs the scope `webhooks:write`."""
        return self._call("POST", ("/webhook_endpoints",), key=idempotency_key, body=body, takes_key=True)

    def get(self, endpoint_id: str) -> t.WebhookEndpoint:
        """Get a webhook endpoint. Needs the scope `webhooks:read`."""
        return self._call("GET", ("/webhook_endpoints/{}", endpoint_id))

    def change(self, endpoint_id: str, **body: Unpack[t.PatchedWebhookEndpointChanges]) -> t.WebhookEndpoint:
        """Update a webhook endpoint. Needs the scope `webhooks:write`."""
        return self._call("PATCH", ("/webhook_endpoints/{}", endpoint_id), body=body)

    def delete(self, endpoint_id: str) -> None:
        """Delete a webhook endpoint. Needs the scope `webhooks:write`."""
        self._call("DELETE", ("/webhook_endpoints/{}", endpoint_id))

    def rotate_secret(self, endpoint_id: str, *, idempotency_key: str | None = None) -> t.WebhookEndpointSecret:
        """Rotate the secret of a webhook endpoint. Needs the scope `webhooks:write`."""
        return self._call(
            "POST", ("/webhook_endpoints/{}/rotate_secret", endpoint_id), key=idempotency_key, takes_key=True
        )

    def test(self, endpoint_id: str, *, idempotency_key: str | None = None) -> t.TestDelivery:
        """Send a test event. Needs the scope `webhooks:write`."""
        return self._call("POST", ("/webhook_endpoints/{}/test", endpoint_id), key=idempotency_key, takes_key=True)


class X402(Resource):
    """Operations of `/x402`."""

    def get_config(self) -> t.X402Config:
        """Get the x402 configuration. Needs the scope `x402:verify`."""
        return self._call("GET", ("/x402/config",))

    def sign_offers(self, *, idempotency_key: str | None = None, **body: Unpack[t.OfferedResource]) -> t.SignedOffers:
        """Sign x402 offers. Needs the scope `x402:verify`."""
        return self._call("POST", ("/x402/offers",), key=idempotency_key, body=body, takes_key=True)

    def list_payments(self, **query: Unpack[t.ListPaymentsX402Query]) -> Pages[t.X402Payment]:
        """List x402 payments. Needs the scope `x402:read`."""
        return self._pages(("/x402/payments",), query)

    def settle_payment(self, body: t.SettleBody, *, idempotency_key: str | None = None) -> t.Settled | t.SettlementList:
        """Settle an x402 payment, or send on what was collected. Needs the scope `x402:settle`."""
        return self._call("POST", ("/x402/settle",), body=body, key=idempotency_key, takes_key=True)

    def get_supported(self) -> t.Supported:
        """List supported x402 payment kinds. Needs the scope `x402:verify`."""
        return self._call("GET", ("/x402/supported",))

    def verify_payment(self, body: t.VerifyBody, *, idempotency_key: str | None = None) -> t.VerifyResult:
        """Verify an x402 payment. Needs the scope `x402:verify`."""
        return self._call("POST", ("/x402/verify",), body=body, key=idempotency_key, takes_key=True)


class Operations:
    """All resources."""

    def __init__(self, resource: Resource) -> None:
        self.chains = Chains.of(resource)
        self.checkouts = Checkouts.of(resource)
        self.currencies = Currencies.of(resource)
        self.disruptions = Disruptions.of(resource)
        self.events = Events.of(resource)
        self.inbox = Inbox.of(resource)
        self.key = Key.of(resource)
        self.link_templates = LinkTemplates.of(resource)
        self.links = Links.of(resource)
        self.payouts = Payouts.of(resource)
        self.refunds = Refunds.of(resource)
        self.reports = Reports.of(resource)
        self.terminals = Terminals.of(resource)
        self.transactions = Transactions.of(resource)
        self.waitlist = Waitlist.of(resource)
        self.wallets = Wallets.of(resource)
        self.webhook_deliveries = WebhookDeliveries.of(resource)
        self.webhook_endpoints = WebhookEndpoints.of(resource)
        self.x402 = X402.of(resource)
