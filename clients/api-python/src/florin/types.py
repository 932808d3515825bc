"""Shapes of requests and answers. Written by script/clients."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Act: TypeAlias = Literal["credit", "accept_late", "refunded", "dismiss"]


class ActiveDisruption(TypedDict):
    """What disrupts your payments now, in the words of your dashboard."""

    kind: ActiveDisruptionKind
    chain: str | None
    endpoint_id: str | None
    since: str | None
    block: int | None
    heading: str
    meaning: str
    doing: str
    advice: str
    orders_at_risk: int


ActiveDisruptionKind: TypeAlias = Literal[
    "halted", "reversed", "down", "endpoint_failing", "endpoint_off", "sources_disagree", "gas_low", "delayed"
]


class ActiveDisruptionList(TypedDict):
    """ActiveDisruptionList"""

    data: list[ActiveDisruption]


class Advance(TypedDict):
    """Body of `POST /test/checkouts/{id}/advance`."""

    steps: NotRequired[int | None]


class AnsweredAttempt(TypedDict):
    """One POST, with what your server answered."""

    started_at: str
    duration_ms: int
    status_code: int | None
    error: str | None
    response_headers: dict[str, str]
    response_body: str


class AuthorizedPayment(TypedDict):
    """What the payer signs, with its ticket; once it is signed, the transaction that was sent."""

    typed_data: NotRequired[dict[str, Any]]
    transaction: NotRequired[str]
    ticket: NotRequired[str]
    tx_hash: NotRequired[str]


class Balances(TypedDict):
    """What a wallet held when its chain was last asked, with six decimals."""

    USDC: str | None
    USDT: str | None


class Chain(TypedDict):
    """A supported chain."""

    chain: str
    name: str
    chainId: int | None
    tokens: list[str]
    tokenContracts: dict[str, TokenContract]
    exactAmountRequired: bool
    estimatedConfirmSec: int
    confirmations: int
    gasTier: GasTier
    priority: int
    badge: str | None
    explorerTx: str | None
    status: ChainStatus
    reason: ChainReason | None
    disruption: ChainDisruption | None


class ChainDisruption(TypedDict):
    """What disrupts a chain, in the words that buyers, the status page and the dashboard have."""

    kind: ChainDisruptionKind
    since: str | None
    block: int | None
    heading: str
    meaning: str
    doing: str
    advice: str


ChainDisruptionKind: TypeAlias = Literal["halted", "down", "sources_disagree", "delayed"]


class ChainFlows(TypedDict):
    """The sums of a token on a chain."""

    chain: str
    token: str
    inflow: str
    outflow: str
    net: str
    unconfirmed: str
    count: int


class ChainList(TypedDict):
    """ChainList"""

    data: list[Chain]


class ChainOption(TypedDict):
    """A chain a checkout can be paid on."""

    chain: str
    name: str
    tokens: list[str]
    estimatedConfirmSec: int
    gasTier: GasTier
    priority: int
    badge: str | None
    exactAmountRequired: bool
    address: str | None
    payAmount: str | None
    paymentUri: str | None
    due: NotRequired[dict[str, str]]
    gasFree: NotRequired[bool]


ChainReason: TypeAlias = Literal["halted", "unreachable"]

ChainStatus: TypeAlias = Literal["ok", "delayed", "down"]


class ChangedTransfer(TypedDict):
    """The transfer that an event is about, one of the checkout's `transfers`."""

    chain: str
    tx_hash: str
    position: int


class Checkout(TypedDict):
    """A checkout."""

    id: str
    status: CheckoutStatus
    amount: str
    currency: str
    quote: NotRequired[Quote]
    dues: NotRequired[dict[str, Due]]
    description: str | None
    metadata: dict[str, Any]
    checkout_url: str
    references: References
    payment: Payment | None
    expires_at: str
    created_at: str
    livemode: bool
    amount_received: str
    amount_remaining: str
    amount_refunded: str
    exception: CheckoutException | None
    paid_at: str | None
    cancelled: bool
    replaces: str | None
    replaced_by: str | None
    transfers: list[CreditedTransfer]
    escrow: bool
    escrow_status: EscrowStatus | None
    escrow_released_by: EscrowReleasedBy | None


class CheckoutEvent(TypedDict):
    """What is sent about a checkout."""

    id: str
    type: str
    created_at: str
    api_version: str
    livemode: bool
    checkout_id: str
    sequence: int
    data: Checkout


CheckoutException: TypeAlias = Literal["underpaid", "overpaid", "reversed"]


class CheckoutList(TypedDict):
    """CheckoutList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[Checkout]


CheckoutStatus: TypeAlias = Literal["pending", "processing", "underpaid", "completed", "expired"]


class CheckoutTransferEvent(TypedDict):
    """What is sent about a transfer of a checkout."""

    id: str
    type: str
    created_at: str
    api_version: str
    livemode: bool
    checkout_id: str
    sequence: int
    data: ConfirmedCheckout


Code: TypeAlias = Literal["email_unusable"]


class ConfirmedCheckout(TypedDict):
    """A checkout with the transfer that became final."""

    id: str
    status: Literal["pending", "processing", "underpaid", "completed", "expired"]
    amount: str
    currency: str
    quote: NotRequired[Quote]
    dues: NotRequired[dict[str, Due]]
    description: str | None
    metadata: dict[str, Any]
    checkout_url: str
    references: References
    payment: Payment | None
    expires_at: str
    created_at: str
    livemode: bool
    amount_received: str
    amount_remaining: str
    amount_refunded: str
    exception: Literal["", "underpaid", "overpaid", "reversed", None]
    paid_at: str | None
    cancelled: bool
    replaces: str | None
    replaced_by: str | None
    transfers: list[CreditedTransfer]
    escrow: bool
    escrow_status: Literal["held", "released", None]
    escrow_released_by: Literal["member", "api", "external", None]
    changed_transfer: ChangedTransfer


class CreatedCheckout(TypedDict):
    """A checkout with the chains it can be paid on."""

    id: str
    status: CheckoutStatus
    amount: str
    currency: str
    quote: NotRequired[Quote]
    dues: NotRequired[dict[str, Due]]
    description: str | None
    metadata: dict[str, Any]
    checkout_url: str
    references: References
    payment: Payment | None
    expires_at: str
    created_at: str
    livemode: bool
    amount_received: str
    amount_remaining: str
    amount_refunded: str
    exception: CheckoutException | None
    paid_at: str | None
    cancelled: bool
    replaces: str | None
    replaced_by: str | None
    transfers: list[CreditedTransfer]
    escrow: bool
    escrow_status: EscrowStatus | None
    escrow_released_by: EscrowReleasedBy | None
    available_chains: list[ChainOption]
    notices: list[Notice]


class CreditedTransfer(TypedDict):
    """One on-chain transfer credited to a checkout."""

    chain: str
    token: str
    amount: str
    tx_hash: str
    position: int
    sender_address: str
    confirmations: int
    required_confirmations: int
    status: TransferState
    in_doubt: bool
    detected_at: str
    confirmed_at: str | None


Currency: TypeAlias = Literal["USD"]


class CurrencyList(TypedDict):
    """CurrencyList"""

    data: list[PriceCurrency]


class DayFlows(TypedDict):
    """The sums of a day (UTC)."""

    day: str
    inflow: str
    outflow: str
    net: str
    unconfirmed: str
    count: int


class DeletedTemplate(TypedDict):
    """What is left of a template."""

    id: str
    deleted: bool


class DeliveryAttempt(TypedDict):
    """One POST: when, for how long, and its result."""

    started_at: str
    duration_ms: int
    status_code: int | None
    error: str | None


DeliveryStatus: TypeAlias = Literal["pending", "held", "delivered", "failed", "cancelled"]

Direction: TypeAlias = Literal["in", "out"]


class DisruptionEvent(TypedDict):
    """What is sent about a disruption of your payments. `checkout_id` is empty."""

    id: str
    type: str
    created_at: str
    api_version: str
    livemode: bool
    checkout_id: str
    sequence: int
    data: ActiveDisruption


class Due(TypedDict):
    """A price in a token that is not one USD, fixed when the checkout was created. What comes in it counts for its share of the price."""

    amount: str
    currency: str
    rate: str
    sources: list[QuoteSource]
    taken_at: str


class EndedDisruption(TypedDict):
    """A disruption of your payments that is over."""

    kind: str
    chain: str
    since: str
    until: str


EndpointHealth: TypeAlias = Literal["healthy", "failing", "probation", "disabled"]

EscrowReleasedBy: TypeAlias = Literal["member", "api", "external"]

EscrowStatus: TypeAlias = Literal["held", "released"]


class EventBody(TypedDict):
    """What a webhook's body is, and an element of the event list."""

    id: str
    type: str
    created_at: str
    api_version: str
    livemode: bool
    checkout_id: str
    sequence: int
    data: dict[str, Any]


class EventList(TypedDict):
    """EventList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[EventBody]


class ExplainedTransaction(TypedDict):
    """A transaction on one chain. Recorded: the movements that are yours. From a node: all, yours first, at most 100."""

    chain: str
    tx_hash: str
    status: TransactionStatus
    block_time: str | None
    explorer_url: str | None
    movements: list[TransactionMovement]


class FiatInterest(TypedDict):
    """A place on the waitlist for card payments, as it was asked for first."""

    id: str
    email: str
    company: str | None
    country: str | None
    monthly_volume: str | None
    livemode: bool
    created_at: str


GasTier: TypeAlias = Literal["low", "medium", "high"]


class GatewayRestore(TypedDict):
    """The time whose changes a restore of the database may have lost."""

    lost_from: str
    restored_at: str


class GatewayRestoredEvent(TypedDict):
    """What is sent after a restore. `checkout_id` is empty."""

    id: str
    type: str
    created_at: str
    api_version: str
    livemode: bool
    checkout_id: str
    sequence: int
    data: GatewayRestore


class Held(TypedDict):
    """What watched wallets hold of a token, as each was last read."""

    chain: str
    token: str
    amount: str


class History(TypedDict):
    """How much is known of a wallet's past."""

    progress: int
    since: str
    error: str | None


class InboxCandidate(TypedDict):
    """A checkout that a rule found, and why it was not credited."""

    id: str
    order_ref: str | None
    status: CheckoutStatus
    amount: str
    amount_remaining: str
    why_not: str


class InboxCheckout(TypedDict):
    """A checkout that the money names, belonged to, or probably is for."""

    id: str
    order_ref: str | None
    status: CheckoutStatus
    amount: str
    amount_remaining: str


class InboxDecision(TypedDict):
    """A person's decision. It takes effect half a minute later, and can be undone until then."""

    act: Act
    checkout_id: str | None
    refund_tx: str | None
    decided_at: str
    takes_effect_at: str
    took_effect_at: str | None


class InboxEvent(TypedDict):
    """What is sent about an inbox item. `checkout_id` is the item's id."""

    id: str
    type: str
    created_at: str
    api_version: str
    livemode: bool
    checkout_id: str
    sequence: int
    data: InboxItem


class InboxItem(TypedDict):
    """Money that no rule could credit, an alarm about a reversed payment, or a notice about a credit."""

    id: str
    livemode: bool
    status: InboxStatus
    reason: InboxReason
    title: str
    meaning: str
    explanation: str | None
    transfer: InboxTransfer
    checkout: InboxCheckout | None
    candidates: list[InboxCandidate]
    decision: InboxDecision | None
    outcome: InboxOutcome | None
    created_at: str
    closed_at: str | None


class InboxList(TypedDict):
    """InboxList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[InboxItem]


class InboxMention(TypedDict):
    """An inbox item about a movement. `GET /inbox/{item_id}` has more."""

    id: str
    status: InboxStatus
    reason: InboxReason
    outcome: InboxOutcome | None


InboxOutcome: TypeAlias = Literal["credited", "accepted_late", "refunded", "dismissed", "restored"]

InboxReason: TypeAlias = Literal[
    "late",
    "late_outage",
    "extra",
    "wrong_network",
    "wrong_token",
    "dust",
    "unmatched",
    "ambiguous",
    "reversed",
    "rival",
]

InboxStatus: TypeAlias = Literal["open", "credited", "refunded", "dismissed"]


class InboxTransfer(TypedDict):
    """The money of an item, as its chain reports it."""

    id: str
    chain: str
    token: str
    amount: str
    tx_hash: str
    position: int
    sender_address: str
    recipient_address: str
    status: TransferState
    labels: list[str]
    block_time: str
    detected_at: str
    confirmed_at: str | None
    explorer_url: str | None


Interval: TypeAlias = Literal["week", "month", "year"]


class KeyBody(TypedDict):
    """An API key, without its secret."""

    id: str
    name: str
    mode: Mode
    merchant: KeyMerchant
    scopes: list[Scope]
    allowed_networks: list[str]
    expires_at: str | None
    created_at: str


class KeyMerchant(TypedDict):
    """The merchant of a key."""

    id: str
    name: str


class LinkList(TypedDict):
    """LinkList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[PaymentLink]


LinkStatus: TypeAlias = Literal["active", "paused", "archived"]


class LinkTemplate(TypedDict):
    """Defaults that a link can be made from."""

    id: str
    title: str
    description: str | None
    type: LinkType
    amount: str | None
    metadata: dict[str, Any]
    livemode: bool
    created_at: str


class LinkTemplateList(TypedDict):
    """LinkTemplateList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[LinkTemplate]


LinkType: TypeAlias = Literal["invoice", "donation", "subscription", "custom"]


class MissingWallet(TypedDict):
    """A network that machines could pay on."""

    chain: str
    page: str


Mode: TypeAlias = Literal["live", "test"]


class Movement(TypedDict):
    """A token movement into or out of a watched wallet."""

    id: str
    direction: Direction
    chain: str
    token: str
    amount: str
    tx_hash: str
    position: int
    counterparty_address: str
    status: TransferState
    block_time: str
    confirmed_at: str | None


class MovementList(TypedDict):
    """MovementList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[Movement]


class NamedSource(TypedDict):
    """What a refund is of: exactly one of these."""

    checkout: NotRequired[str]
    x402_payment: NotRequired[str]
    transfer: NotRequired[NamedTransfer]


class NamedTransfer(TypedDict):
    """A transfer to you, by its transaction."""

    chain: str
    tx_hash: str
    position: NotRequired[int]


class NewAddress(TypedDict):
    """Body of `POST /refunds/{id}/address`."""

    address: str
    chain: NotRequired[str | None]
    token: NotRequired[str | None]


class NewCheckout(TypedDict):
    """Body of `POST /checkouts`."""

    amount: str
    currency: Currency
    description: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    customer_email: NotRequired[str | None]
    redirect_url: NotRequired[str | None]
    webhook_url: NotRequired[str | None]
    expires_in: NotRequired[int | None]
    customer_ref: NotRequired[str | None]
    product_ref: NotRequired[str | None]
    order_ref: NotRequired[str | None]
    test_scenario: NotRequired[TestScenario]
    escrow: NotRequired[bool | None]


class NewFiatInterest(TypedDict):
    """Body of `POST /waitlist/fiat`."""

    email: str
    company: NotRequired[str | None]
    country: NotRequired[str | None]
    monthly_volume: NotRequired[str | None]


class NewLink(TypedDict):
    """Body of `POST /links`."""

    title: NotRequired[str]
    description: NotRequired[str | None]
    amount: NotRequired[str | None]
    currency: NotRequired[Currency]
    type: NotRequired[LinkType]
    metadata: NotRequired[dict[str, Any] | None]
    min_amount: NotRequired[str | None]
    max_amount: NotRequired[str | None]
    suggested_amounts: NotRequired[list[str] | None]
    interval: NotRequired[Interval | None]
    redirect_url: NotRequired[str | None]
    webhook_url: NotRequired[str | None]
    customer_ref: NotRequired[str | None]
    product_ref: NotRequired[str | None]
    escrow: NotRequired[bool | None]
    template: NotRequired[str | None]


class NewLinkTemplate(TypedDict):
    """Body of `POST /link_templates`."""

    title: str
    description: NotRequired[str | None]
    type: NotRequired[LinkType]
    amount: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]


class NewPayout(TypedDict):
    """Body of `POST /payouts`."""

    address: NotRequired[str | None]
    choices: NotRequired[list[PayoutChoice] | None]
    email: NotRequired[str | None]
    expires_in: NotRequired[int | None]
    reason: NotRequired[str | None]
    reference: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    amount: str
    currency: NotRequired[Currency | None]
    chain: str
    token: str


class NewRefund(TypedDict):
    """Body of `POST /refunds`."""

    address: NotRequired[str | None]
    choices: NotRequired[list[PayoutChoice] | None]
    email: NotRequired[str | None]
    expires_in: NotRequired[int | None]
    reason: NotRequired[str | None]
    reference: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    source: NamedSource
    amount: NotRequired[str | None]
    currency: NotRequired[Currency | None]
    chain: NotRequired[str | None]
    token: NotRequired[str | None]
    requires_payer_proof: NotRequired[bool | None]


class NewTerminal(TypedDict):
    """Body of `POST /terminals`."""

    name: str
    currency: NotRequired[Currency]
    tips: NotRequired[list[int] | None]
    chain: NotRequired[str | None]
    chains: NotRequired[list[str] | None]
    shows_day: NotRequired[bool]
    has_sign: NotRequired[bool]


class NewWatchedWallet(TypedDict):
    """Body of `POST /wallets`."""

    chain: str
    address: str
    label: NotRequired[str | None]
    tags: NotRequired[list[str] | None]


class NewWebhookEndpoint(TypedDict):
    """Body of `POST /webhook_endpoints`."""

    url: str
    name: NotRequired[str]
    events: NotRequired[
        list[
            Literal[
                "checkout.completed",
                "checkout.expired",
                "checkout.underpaid",
                "checkout.reversed",
                "checkout.restored",
                "x402.payment.reversed",
                "x402.payment.returned",
                "gateway.restored",
                "checkout.processing",
                "checkout.transfer_confirmed",
                "inbox.opened",
                "inbox.closed",
                "refund.claimed",
                "refund.approved",
                "refund.paid",
                "refund.reversed",
                "refund.ended",
                "payout.claimed",
                "payout.approved",
                "payout.paid",
                "payout.reversed",
                "payout.ended",
                "system.disrupted",
                "system.recovered",
            ]
        ]
        | None
    ]
    enabled: NotRequired[bool]
    secret: NotRequired[str]


class Notice(TypedDict):
    """A field of the request that was left out, and why."""

    param: str
    code: Code
    message: str


class OfferedResource(TypedDict):
    """What a 402 is about to ask for."""

    resource: str
    accepts: list[dict[str, Any]]


class OptionChoice(TypedDict):
    """Body of `POST /checkouts/{id}/options`."""

    chain: str
    token: str


class OtherAsset(TypedDict):
    """A token of another currency than USD."""

    token: str
    currency: str
    address: str
    decimals: int
    extra: dict[str, str]


class PatchedLinkChanges(TypedDict):
    """Body of `PATCH /links/{id}`: what is absent stays. Type, currency and interval cannot be changed."""

    title: NotRequired[str]
    description: NotRequired[str | None]
    amount: NotRequired[str | None]
    metadata: NotRequired[dict[str, Any] | None]
    min_amount: NotRequired[str | None]
    max_amount: NotRequired[str | None]
    suggested_amounts: NotRequired[list[str] | None]
    redirect_url: NotRequired[str | None]
    webhook_url: NotRequired[str | None]
    customer_ref: NotRequired[str | None]
    product_ref: NotRequired[str | None]
    escrow: NotRequired[bool | None]


class PatchedNewLinkStatus(TypedDict):
    """Body of `PATCH /links/{id}/status`."""

    status: NotRequired[LinkStatus]


class PatchedWatchedWalletChanges(TypedDict):
    """Body of `PATCH /wallets/{id}`: what is absent stays. Chain and address cannot be changed."""

    label: NotRequired[str | None]
    tags: NotRequired[list[str] | None]


class PatchedWebhookEndpointChanges(TypedDict):
    """Body of `PATCH /webhook_endpoints/{id}`: what is absent stays."""

    url: NotRequired[str]
    name: NotRequired[str]
    events: NotRequired[
        list[
            Literal[
                "checkout.completed",
                "checkout.expired",
                "checkout.underpaid",
                "checkout.reversed",
                "checkout.restored",
                "x402.payment.reversed",
                "x402.payment.returned",
                "gateway.restored",
                "checkout.processing",
                "checkout.transfer_confirmed",
                "inbox.opened",
                "inbox.closed",
                "refund.claimed",
                "refund.approved",
                "refund.paid",
                "refund.reversed",
                "refund.ended",
                "payout.claimed",
                "payout.approved",
                "payout.paid",
                "payout.reversed",
                "payout.ended",
                "system.disrupted",
                "system.recovered",
            ]
        ]
        | None
    ]
    enabled: NotRequired[bool]


class Payment(TypedDict):
    """How a checkout was paid."""

    amount_crypto: str
    crypto_currency: str
    network: str
    tx_hash: str
    sender_address: str
    confirmed_at: str | None


class PaymentAuthorization(TypedDict):
    """Body of `POST /checkouts/{id}/authorization`: `chain` and `account` first, then `ticket` and `signature`."""

    chain: NotRequired[str]
    account: NotRequired[str]
    ticket: NotRequired[str]
    signature: NotRequired[str]


class PaymentLink(TypedDict):
    """A payment link."""

    id: str
    title: str
    description: str | None
    amount: str | None
    currency: str
    type: LinkType
    metadata: dict[str, Any]
    status: LinkStatus
    url: str
    livemode: bool
    created_at: str
    updated_at: str
    payments_count: int
    amount_collected: str
    min_amount: str | None
    max_amount: str | None
    suggested_amounts: list[str]
    interval: Interval | None
    redirect_url: str | None
    webhook_url: str | None
    customer_ref: str | None
    product_ref: str | None
    escrow: bool
    template: str | None
    share_text: str


class Payout(TypedDict):
    """Money that you send from your own wallet. A refund is a payout with a source."""

    id: str
    kind: PayoutKind
    status: PayoutStatus
    exception: PayoutException | None
    livemode: bool
    source: PayoutSource | None
    amount: str
    quote: PayoutQuote | None
    token: str
    chain: str
    choices: list[PayoutChoice]
    address: str | None
    address_checked: bool
    address_proved: bool
    requires_payer_proof: bool
    reason: str | None
    reference: str | None
    email: str | None
    metadata: dict[str, Any]
    claim_url: str | None
    claim_expires_at: str | None
    approvals: PayoutApprovals
    transaction: PayoutTransaction | None
    created_at: str
    approved_at: str | None
    paid_at: str | None
    ended_at: str | None


class PayoutApprovals(TypedDict):
    """The approvals of the present address. People give them in the dashboard."""

    have: int
    need: int
    revision: int


class PayoutChoice(TypedDict):
    """A chain and a token that the recipient may choose."""

    chain: str
    token: str


class PayoutEvent(TypedDict):
    """What is sent about a refund or payout. `checkout_id` is the checkout that a refund gives back, or empty."""

    id: str
    type: str
    created_at: str
    api_version: str
    livemode: bool
    checkout_id: str
    sequence: int
    data: Payout


PayoutException: TypeAlias = Literal["reversed", "paid_twice", "wrong_amount"]

PayoutKind: TypeAlias = Literal["refund", "payout"]


class PayoutList(TypedDict):
    """PayoutList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[Payout]


class PayoutQuote(TypedDict):
    """How the amount of a payout was converted to USD, once, when it was asked for."""

    amount: str
    currency: str
    usd_amount: str
    rate: str
    sources: list[QuoteSource]
    taken_at: str


class PayoutSource(TypedDict):
    """What a refund sends back."""

    checkout: str | None
    x402_payment: str | None
    transfers: list[PayoutTransfer]


PayoutStatus: TypeAlias = Literal["open", "requested", "approved", "sending", "paid", "cancelled", "expired"]

PayoutTransaction = TypedDict(
    "PayoutTransaction",
    {
        "tx_hash": "str",
        "from": "str | None",
        "confirmations": "int | None",
        "required_confirmations": "int | None",
        "explorer_url": "str | None",
    },
)


class PayoutTransfer(TypedDict):
    """A transfer that came in, and how much of it is sent back."""

    id: str
    chain: str
    token: str
    tx_hash: str
    position: int
    amount: str


class PriceCurrency(TypedDict):
    """A currency that prices may be in."""

    currency: str
    decimals: int
    usd_rate: str | None
    taken_at: str | None
    sources: list[RateSource]


class Proof(TypedDict):
    """A payment that a machine made: all of it strings."""

    txHash: str
    chain: str
    token: str
    amount: str
    payerAddress: str
    payTo: str
    signature: NotRequired[str]
    publicKey: NotRequired[str]


Protocol: TypeAlias = Literal["hash", "exact", "upto"]

Purpose: TypeAlias = Literal["checkout", "x402"]


class Quote(TypedDict):
    """How a price was converted to USD, once, when the checkout was created."""

    usd_amount: str
    rate: str
    margin: str
    sources: list[QuoteSource]
    taken_at: str
    expires_at: str


class QuoteSource(TypedDict):
    """What a source said: USD for one unit."""

    name: str
    rate: str
    taken_at: str


class RateSource(TypedDict):
    """What one source said."""

    name: str
    rate: str
    taken_at: str


class RecoveryEvent(TypedDict):
    """What is sent when a disruption is over. `checkout_id` is empty."""

    id: str
    type: str
    created_at: str
    api_version: str
    livemode: bool
    checkout_id: str
    sequence: int
    data: EndedDisruption


class References(TypedDict):
    """The merchant's own ids; only compared with each other."""

    customer_ref: str | None
    product_ref: str | None
    order_ref: str | None
    ambiguity_resolution_armed: bool


ReportCounts = TypedDict(
    "ReportCounts", {"in": "int", "out": "int", "unconfirmed": "int", "credited": "int", "uncredited": "int"}
)


class ReportSettlement(TypedDict):
    """Money that was sent on from forwarders to a receiving wallet. `amount` is what moved, or the plan until it ended."""

    id: str
    chain: str
    token: str
    amount: str
    to: str
    status: SettlementStatus
    created_at: str
    purpose: Purpose
    tx_hash: str | None
    explorer_url: str | None
    settled_at: str | None
    error: str | None


class ReportSettlementList(TypedDict):
    """ReportSettlementList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[ReportSettlement]


ReportSummary = TypedDict(
    "ReportSummary",
    {
        "from": "str",
        "to": "str",
        "livemode": "bool",
        "inflow": "str",
        "outflow": "str",
        "net": "str",
        "unconfirmed": "str",
        "fees": "str",
        "counts": "ReportCounts",
        "balances": "list[Held]",
        "by_chain": "list[ChainFlows]",
        "by_day": "list[DayFlows]",
        "by_tag": "list[TagFlows]",
    },
)


class ReportTransaction(TypedDict):
    """A transfer to one of the merchant's addresses, with the checkout that it paid, or a movement of a watched wallet."""

    id: str
    direction: Direction
    chain: str
    token: str
    amount: str
    tx_hash: str
    position: int
    sender_address: str
    recipient_address: str
    status: TransferState
    block_time: str
    detected_at: str
    confirmed_at: str | None
    checkout_id: str | None
    order_ref: str | None
    wallet_id: str | None
    kind: ReportTransactionKind
    x402_payment_id: str | None
    resource: str | None
    fee: str | None
    usd_value: str | None
    explorer_url: str | None
    payout_id: str | None
    amount_refunded: str | None
    price: str | None
    price_currency: str | None


ReportTransactionKind: TypeAlias = Literal[
    "checkout", "x402", "uncredited", "other_token", "watched", "refund", "payout"
]


class ReportTransactionList(TypedDict):
    """ReportTransactionList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[ReportTransaction]


class Requirements(TypedDict):
    """What the resource costs."""

    scheme: RequirementsScheme
    network: str
    maxAmountRequired: str
    asset: str
    resource: str


RequirementsScheme: TypeAlias = Literal["exact"]

Scope: TypeAlias = Literal[
    "checkouts:read",
    "checkouts:write",
    "escrow:release",
    "links:read",
    "links:write",
    "events:read",
    "inbox:read",
    "payouts:read",
    "payouts:request",
    "reports:read",
    "terminals:read",
    "terminals:write",
    "wallets:read",
    "wallets:write",
    "webhooks:read",
    "webhooks:write",
    "x402:read",
    "x402:verify",
    "x402:settle",
]

SettleBody: TypeAlias = "SettleFunds | StandardPayment"


class SettleFunds(TypedDict):
    """What to send on to the merchant's wallet: without a field, of all chains and tokens."""

    chain: NotRequired[str]
    token: NotRequired[str]


class Settled(TypedDict):
    """The standard's answer to a settlement. With `settlement_pending` the transaction may still get into a block."""

    success: bool
    transaction: str
    network: str
    payer: NotRequired[str]
    amount: NotRequired[str]
    extra: NotRequired[SettledPaymentReference]
    errorReason: NotRequired[str]
    errorMessage: NotRequired[str]
    extensions: NotRequired[dict[str, Any]]


class SettledPaymentReference(TypedDict):
    """Florin's own fields, in addition to the standard's."""

    paymentId: str


class Settlement(TypedDict):
    """Money on its way from forwarders to the merchant's wallet."""

    id: str
    chain: str
    token: str
    amount: str
    to: str
    status: SettlementStatus
    txHash: str | None
    created_at: str


class SettlementList(TypedDict):
    """What was written down; nothing where nothing waits."""

    settlements: list[Settlement]


SettlementStatus: TypeAlias = Literal["pending", "sent", "settled", "failed"]


class SignedOffers(TypedDict):
    """The standard's extension `offer-receipt` for the 402."""

    extension: dict[str, Any]
    validUntil: int


class StandardPayment(TypedDict):
    """A payment of the public standard, as its version says: the libraries that clients use write it."""

    x402Version: X402Version
    paymentPayload: dict[str, Any]
    paymentRequirements: dict[str, Any]
    receiptFor: NotRequired[str]


class Supported(TypedDict):
    """Which payments are settled, and by which accounts."""

    kinds: list[SupportedPayment]
    extensions: list[str]
    signers: dict[str, list[str]]


class SupportedPayment(TypedDict):
    """A scheme and network that this facilitator settles."""

    x402Version: X402Version
    scheme: SupportedPaymentScheme
    network: str
    extra: NotRequired[SupportedPaymentAccount]


class SupportedPaymentAccount(TypedDict):
    """The account of ours that payers name in what they sign."""

    feePayer: NotRequired[str]
    facilitatorAddress: NotRequired[str]


SupportedPaymentScheme: TypeAlias = Literal["exact", "upto"]


class TagFlows(TypedDict):
    """The sums of the watched wallets with a tag, of all that moved in and out of them."""

    tag: str
    inflow: str
    outflow: str
    net: str
    unconfirmed: str
    count: int


class Terminal(TypedDict):
    """A place that sells, in one mode, and the one device that may sell there."""

    id: str
    name: str
    currency: str
    tips: list[int]
    chain: str | None
    chains: list[str]
    shows_day: bool
    has_sign: bool
    sign_url: str | None
    link_id: str | None
    has_pin: bool
    status: TerminalStatus
    device: str | None
    livemode: bool
    created_at: str
    paired_at: str | None
    last_seen_at: str | None
    revoked_at: str | None


class TerminalList(TypedDict):
    """TerminalList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[Terminal]


class TerminalPairing(TypedDict):
    """A code that pairs one device with a terminal, once. No other answer has it."""

    code: str
    url: str
    expires_at: str


class TerminalSale(TypedDict):
    """A checkout that was made at a terminal."""

    checkout_id: str
    amount: str
    currency: str
    tip: str
    status: CheckoutStatus
    exception: CheckoutException | None
    accepted_by: str | None
    is_by_customer: bool
    created_at: str


class TerminalSaleList(TypedDict):
    """TerminalSaleList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[TerminalSale]


TerminalStatus: TypeAlias = Literal["unpaired", "paired", "revoked"]


class TestDelivery(TypedDict):
    """A test event on its way to an endpoint."""

    id: str
    event_id: str
    status: DeliveryStatus
    created_at: str


TestScenario: TypeAlias = Literal[
    "completed",
    "processing",
    "underpaid",
    "topped_up",
    "part_paid",
    "overpaid",
    "extra",
    "late",
    "expired",
    "reorg",
    "reversed",
]


class TokenContract(TypedDict):
    """A token on one chain."""

    address: str
    decimals: int


class TransactionExplanation(TypedDict):
    """What became of the transactions with a hash: chains of one kind may each have one."""

    livemode: bool
    source: TransactionSource
    transactions: list[ExplainedTransaction]
    unasked_chains: list[str]


class TransactionMovement(TypedDict):
    """A token movement of a transaction, and what became of it."""

    id: str | None
    tx_hash: str
    position: int
    token: str | None
    token_address: str | None
    amount: str | None
    sender_address: str
    recipient_address: str
    status: TransferState | None
    in_doubt: bool
    outcome: TransactionOutcome
    explanation: str
    checkout_id: str | None
    replaces: str | None
    x402_payment_id: str | None
    refund_tx: str | None
    inbox_items: list[InboxMention]


TransactionOutcome: TypeAlias = Literal[
    "credited",
    "accepted_late",
    "x402",
    "inbox",
    "refunded",
    "dismissed",
    "unclaimed",
    "undecided",
    "reversed",
    "unread",
    "unsupported",
    "elsewhere",
]

TransactionSource: TypeAlias = Literal["records", "nodes"]

TransactionStatus: TypeAlias = Literal["waiting", "failed", "mined", "removed"]

TransferState: TypeAlias = Literal["detected", "confirmed", "orphaned"]


class Verified(TypedDict):
    """The standard's answer to a verification."""

    isValid: bool
    payer: NotRequired[str]
    invalidReason: NotRequired[str]
    invalidMessage: NotRequired[str]


class VerifyAnswer(TypedDict):
    """Whether the payment pays. With `valid` the fields from `verifiedAt` to `confirmations` are there, else the others."""

    valid: bool
    txHash: str
    verifiedAt: NotRequired[str]
    paymentId: NotRequired[str]
    confirmations: NotRequired[int]
    reason: NotRequired[VerifyAnswerReason]
    message: NotRequired[str]
    retryAfter: NotRequired[int | None]


VerifyAnswerReason: TypeAlias = Literal[
    "not_found",
    "not_confirmed",
    "failed_transaction",
    "wrong_recipient",
    "wrong_token",
    "insufficient_amount",
    "wrong_payer",
    "wrong_chain",
    "already_used",
    "too_old",
    "requirements_mismatch",
]

VerifyBody: TypeAlias = "VerifyPayment | StandardPayment"


class VerifyPayment(TypedDict):
    """A proof by hash, and what it is to pay for."""

    payment: Proof
    requirements: Requirements


VerifyResult: TypeAlias = "VerifyAnswer | Verified"


class WatchedWallet(TypedDict):
    """An address whose movements are recorded. Nothing is ever credited because of it."""

    id: str
    chain: str
    address: str
    label: str
    tags: list[str]
    status: WatchedWalletStatus
    balances: Balances
    history: History
    livemode: bool
    created_at: str


class WatchedWalletList(TypedDict):
    """WatchedWalletList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[WatchedWallet]


WatchedWalletStatus: TypeAlias = Literal["importing", "active"]


class WebhookDelivery(TypedDict):
    """An event on its way to one endpoint, or there."""

    id: str
    event_id: str
    event_type: str
    checkout_id: str
    endpoint_id: str | None
    url: str
    status: DeliveryStatus
    tries: int
    next_attempt_at: str | None
    finished_at: str | None
    last_attempt: DeliveryAttempt | None
    livemode: bool
    created_at: str


class WebhookDeliveryDetail(TypedDict):
    """A delivery with its attempts."""

    id: str
    event_id: str
    event_type: str
    checkout_id: str
    endpoint_id: str | None
    url: str
    status: DeliveryStatus
    tries: int
    next_attempt_at: str | None
    finished_at: str | None
    last_attempt: DeliveryAttempt | None
    livemode: bool
    created_at: str
    attempts: list[AnsweredAttempt]


class WebhookDeliveryList(TypedDict):
    """WebhookDeliveryList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[WebhookDelivery]


class WebhookEndpoint(TypedDict):
    """A URL that receives events, without its secret."""

    id: str
    url: str
    name: str
    events: (
        list[
            Literal[
                "checkout.completed",
                "checkout.expired",
                "checkout.underpaid",
                "checkout.reversed",
                "checkout.restored",
                "x402.payment.reversed",
                "x402.payment.returned",
                "gateway.restored",
                "checkout.processing",
                "checkout.transfer_confirmed",
                "inbox.opened",
                "inbox.closed",
                "refund.claimed",
                "refund.approved",
                "refund.paid",
                "refund.reversed",
                "refund.ended",
                "payout.claimed",
                "payout.approved",
                "payout.paid",
                "payout.reversed",
                "payout.ended",
                "system.disrupted",
                "system.recovered",
            ]
        ]
        | None
    )
    enabled: bool
    is_default: bool
    health: EndpointHealth
    failing_since: str | None
    disabled_reason: str | None
    livemode: bool
    created_at: str


class WebhookEndpointList(TypedDict):
    """WebhookEndpointList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[WebhookEndpoint]


class WebhookEndpointSecret(TypedDict):
    """A webhook endpoint with its secret, which no other answer has."""

    id: str
    url: str
    name: str
    events: (
        list[
            Literal[
                "checkout.completed",
                "checkout.expired",
                "checkout.underpaid",
                "checkout.reversed",
                "checkout.restored",
                "x402.payment.reversed",
                "x402.payment.returned",
                "gateway.restored",
                "checkout.processing",
                "checkout.transfer_confirmed",
                "inbox.opened",
                "inbox.closed",
                "refund.claimed",
                "refund.approved",
                "refund.paid",
                "refund.reversed",
                "refund.ended",
                "payout.claimed",
                "payout.approved",
                "payout.paid",
                "payout.reversed",
                "payout.ended",
                "system.disrupted",
                "system.recovered",
            ]
        ]
        | None
    )
    enabled: bool
    is_default: bool
    health: EndpointHealth
    failing_since: str | None
    disabled_reason: str | None
    livemode: bool
    created_at: str
    secret: str


class X402Config(TypedDict):
    """Where machines pay a merchant."""

    payTo: dict[str, str]
    networks: list[str]
    assets: dict[str, list[str]]
    otherAssets: NotRequired[dict[str, list[OtherAsset]]]
    scheme: str
    settlement: dict[str, Literal["batch", "direct"]]
    missing: list[MissingWallet]
    requiresSignature: bool


class X402Payment(TypedDict):
    """What a machine paid."""

    id: str
    livemode: bool
    protocol: Protocol
    chain: str
    token: str
    amount: str
    required_amount: str
    txHash: str
    position: int
    payerAddress: str
    payTo: str
    signed: bool
    resource: str
    status: X402PaymentStatus
    verified_at: str
    final_at: str | None
    settled_at: str | None
    reversed_at: str | None


class X402PaymentEvent(TypedDict):
    """What is sent about a payment by a machine. `checkout_id` is the payment's id."""

    id: str
    type: str
    created_at: str
    api_version: str
    livemode: bool
    checkout_id: str
    sequence: int
    data: X402Payment


class X402PaymentList(TypedDict):
    """X402PaymentList"""

    total: NotRequired[int]
    limit: int
    offset: int
    data: list[X402Payment]


X402PaymentStatus: TypeAlias = Literal["verified", "settled", "reversed"]

X402Version: TypeAlias = Literal[1, 2]


class ListCheckoutsQuery(TypedDict):
    """Filters of `GET /checkouts`"""

    created_after: NotRequired[str]
    created_before: NotRequired[str]
    customer_ref: NotRequired[str]
    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    order_ref: NotRequired[str]
    product_ref: NotRequired[str]
    starting_after: NotRequired[str]
    status: NotRequired[Literal["completed", "expired", "pending", "processing", "underpaid"]]


class ListEventsQuery(TypedDict):
    """Filters of `GET /events`"""

    after: NotRequired[int]
    checkout_id: NotRequired[str]
    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    starting_after: NotRequired[str]
    type: NotRequired[
        Literal[
            "checkout.completed",
            "checkout.expired",
            "checkout.processing",
            "checkout.restored",
            "checkout.reversed",
            "checkout.transfer_confirmed",
            "checkout.underpaid",
            "gateway.restored",
            "inbox.closed",
            "inbox.opened",
            "payout.approved",
            "payout.claimed",
            "payout.ended",
            "payout.paid",
            "payout.reversed",
            "refund.approved",
            "refund.claimed",
            "refund.ended",
            "refund.paid",
            "refund.reversed",
            "system.disrupted",
            "system.recovered",
            "x402.payment.returned",
            "x402.payment.reversed",
        ]
    ]


class ListItemsInboxQuery(TypedDict):
    """Filters of `GET /inbox`"""

    chain: NotRequired[str]
    checkout_id: NotRequired[str]
    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    reason: NotRequired[
        Literal[
            "ambiguous",
            "dust",
            "extra",
            "late",
            "late_outage",
            "reversed",
            "rival",
            "unmatched",
            "wrong_network",
            "wrong_token",
        ]
    ]
    starting_after: NotRequired[str]
    status: NotRequired[Literal["credited", "dismissed", "open", "refunded"]]


class ListLinkTemplatesQuery(TypedDict):
    """Filters of `GET /link_templates`"""

    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    starting_after: NotRequired[str]


class ListLinksQuery(TypedDict):
    """Filters of `GET /links`"""

    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    starting_after: NotRequired[str]
    status: NotRequired[Literal["active", "archived", "paused"]]


class ListPayoutsQuery(TypedDict):
    """Filters of `GET /payouts`"""

    checkout_id: NotRequired[str]
    created_after: NotRequired[str]
    created_before: NotRequired[str]
    inbox_item_id: NotRequired[str]
    include_total: NotRequired[bool]
    kind: NotRequired[Literal["payout", "refund"]]
    limit: NotRequired[int]
    offset: NotRequired[int]
    reference: NotRequired[str]
    starting_after: NotRequired[str]
    status: NotRequired[Literal["approved", "cancelled", "expired", "open", "paid", "requested", "sending"]]
    transfer_id: NotRequired[str]
    x402_payment_id: NotRequired[str]


class ListRefundsQuery(TypedDict):
    """Filters of `GET /refunds`"""

    checkout_id: NotRequired[str]
    created_after: NotRequired[str]
    created_before: NotRequired[str]
    inbox_item_id: NotRequired[str]
    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    reference: NotRequired[str]
    starting_after: NotRequired[str]
    status: NotRequired[Literal["approved", "cancelled", "expired", "open", "paid", "requested", "sending"]]
    transfer_id: NotRequired[str]
    x402_payment_id: NotRequired[str]


class ListSettlementsReportsQuery(TypedDict):
    """Filters of `GET /reports/settlements`"""

    chain: NotRequired[str]
    from_: NotRequired[str]
    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    starting_after: NotRequired[str]
    to: NotRequired[str]


class GetSummaryReportsQuery(TypedDict):
    """Filters of `GET /reports/summary`"""

    chain: NotRequired[str]
    from_: NotRequired[str]
    tag: NotRequired[str]
    to: NotRequired[str]


class ListTransactionsReportsQuery(TypedDict):
    """Filters of `GET /reports/transactions`"""

    chain: NotRequired[str]
    direction: NotRequired[Literal["in", "out"]]
    from_: NotRequired[str]
    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    starting_after: NotRequired[str]
    tag: NotRequired[str]
    to: NotRequired[str]
    token: NotRequired[str]
    wallet: NotRequired[str]


class ListTerminalsQuery(TypedDict):
    """Filters of `GET /terminals`"""

    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    starting_after: NotRequired[str]


class ListSalesTerminalsQuery(TypedDict):
    """Filters of `GET /terminals/{}/sales`"""

    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    starting_after: NotRequired[str]


class GetTransactionsQuery(TypedDict):
    """Filters of `GET /transactions/{}`"""

    chain: NotRequired[str]


class ListWalletsQuery(TypedDict):
    """Filters of `GET /wallets`"""

    chain: NotRequired[str]
    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    starting_after: NotRequired[str]
    tag: NotRequired[str]


class ListTransactionsWalletsQuery(TypedDict):
    """Filters of `GET /wallets/{}/transactions`"""

    direction: NotRequired[Literal["in", "out"]]
    from_: NotRequired[str]
    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    starting_after: NotRequired[str]
    to: NotRequired[str]
    token: NotRequired[str]


class ListWebhookDeliveriesQuery(TypedDict):
    """Filters of `GET /webhook_deliveries`"""

    checkout_id: NotRequired[str]
    endpoint_id: NotRequired[str]
    event_id: NotRequired[str]
    event_type: NotRequired[
        Literal[
            "checkout.completed",
            "checkout.expired",
            "checkout.processing",
            "checkout.restored",
            "checkout.reversed",
            "checkout.transfer_confirmed",
            "checkout.underpaid",
            "gateway.restored",
            "inbox.closed",
            "inbox.opened",
            "payout.approved",
            "payout.claimed",
            "payout.ended",
            "payout.paid",
            "payout.reversed",
            "refund.approved",
            "refund.claimed",
            "refund.ended",
            "refund.paid",
            "refund.reversed",
            "system.disrupted",
            "system.recovered",
            "x402.payment.returned",
            "x402.payment.reversed",
        ]
    ]
    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    starting_after: NotRequired[str]
    status: NotRequired[Literal["cancelled", "delivered", "failed", "failing", "held", "pending"]]


class ListWebhookEndpointsQuery(TypedDict):
    """Filters of `GET /webhook_endpoints`"""

    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    starting_after: NotRequired[str]


class ListPaymentsX402Query(TypedDict):
    """Filters of `GET /x402/payments`"""

    chain: NotRequired[str]
    created_after: NotRequired[str]
    created_before: NotRequired[str]
    include_total: NotRequired[bool]
    limit: NotRequired[int]
    offset: NotRequired[int]
    resource: NotRequired[str]
    starting_after: NotRequired[str]
    status: NotRequired[Literal["reversed", "settled", "verified"]]
    token: NotRequired[str]
