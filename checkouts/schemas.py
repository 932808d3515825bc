"""The checkout API's shapes for the OpenAPI description. Never used to read or write a request (docs/adr/0003)."""

from rest_framework import serializers as s

from checkouts.creation.forms import DEFAULT_EXPIRES_IN, MAX_DESCRIPTION, MAX_EXPIRES_IN, MIN_EXPIRES_IN
from checkouts.creation.references import MAX_LENGTH
from checkouts.states import CheckoutException, CheckoutStatus, EscrowStatus, TestScenario
from gateway.core.api.openapi import PAGE_PARAMETERS, errors, paginated
from gateway.core.currencies import USD
from rates.selectors import price_currencies
from settlements.states import ReleasedBy
from wallets.states import TransferState

__all__ = [
    "PAGE_PARAMETERS",
    "STATUSES",
    "AuthorizedPayment",
    "ChainOption",
    "Checkout",
    "CheckoutList",
    "CreatedCheckout",
    "NewCheckout",
    "OptionChoice",
    "PaymentAuthorization",
    "errors",
]

STATUSES = list(CheckoutStatus.values)


class NewCheckout(s.Serializer[None]):
    """Body of `POST /checkouts`."""

    amount = s.CharField(
        help_text='USD as a string with at most two decimals, "0.10" to "1000000.00". In another currency: with its decimals, and'
        " worth as much."
    )
    currency = s.ChoiceField(
        choices=[USD, *price_currencies()],
        help_text="`USD`, and what `GET /currencies` lists on this installation. Other prices are converted once, now, and may"
        " last an hour: 503 `rate_unavailable` while there is no agreed rate.",
    )
    description = s.CharField(required=False, allow_null=True, max_length=MAX_DESCRIPTION)
    metadata = s.DictField(
        required=False, allow_null=True, help_text="At most 4,096 bytes; returned in webhooks untouched."
    )
    customer_email = s.CharField(
        required=False,
        allow_null=True,
        help_text="Where the receipt goes. An address that cannot be written to is left out, and `notices` says so.",
    )
    redirect_url = s.URLField(required=False, allow_null=True)
    webhook_url = s.URLField(required=False, allow_null=True)
    expires_in = s.IntegerField(
        required=False,
        allow_null=True,
        min_value=MIN_EXPIRES_IN,
        max_value=MAX_EXPIRES_IN,
        # No `default`: generators of clients would make the field required.
        help_text=f"Seconds until it expires. {DEFAULT_EXPIRES_IN} if absent.",
    )
    customer_ref = s.CharField(required=False, allow_null=True, max_length=MAX_LENGTH)
    product_ref = s.CharField(required=False, allow_null=True, max_length=MAX_LENGTH)
    order_ref = s.CharField(
        required=False,
        allow_null=True,
        max_length=MAX_LENGTH,
        help_text="Makes creation idempotent together with amount and currency.",
    )
    test_scenario = s.ChoiceField(choices=TestScenario.choices, required=False, help_text="Test keys only.")
    escrow = s.BooleanField(
        required=False,
        allow_null=True,
        help_text="Whether the money stays in its deposit address until you release it. Only chains with deposit addresses, such as"
        " Base and Polygon, are offered then.",
    )


class QuoteSource(s.Serializer[None]):
    """What a source said: USD for one unit."""

    name = s.CharField()
    rate = s.CharField()
    taken_at = s.DateTimeField()


class Quote(s.Serializer[None]):
    """How a price was converted to USD, once, when the checkout was created."""

    usd_amount = s.CharField(help_text="What the checkout asks for: price x rate x (1 + margin), rounded up to a cent.")
    rate = s.CharField(help_text="USD for one unit of the currency.")
    margin = s.CharField(help_text="Your own, as a share: `0.0100` is one per cent.")
    sources = QuoteSource(many=True, help_text="The source of the rate, then the one that confirmed it.")
    taken_at = s.DateTimeField()
    expires_at = s.DateTimeField(help_text="Until when it can be paid at this rate.")


class Due(s.Serializer[None]):
    """A price in a token that is not one USD, fixed when the checkout was created. What comes in it counts for its share of the price."""

    amount = s.CharField(help_text="The whole price in the token.")
    currency = s.CharField(help_text="What the token is one of.")
    rate = s.CharField(help_text="USD for one unit of that.")
    sources = QuoteSource(many=True, help_text="The source of the rate, then the one that confirmed it.")
    taken_at = s.DateTimeField()


class References(s.Serializer[None]):
    """The merchant's own ids; only compared with each other."""

    customer_ref = s.CharField(allow_null=True)
    product_ref = s.CharField(allow_null=True)
    order_ref = s.CharField(allow_null=True)
    ambiguity_resolution_armed = s.BooleanField()


class Payment(s.Serializer[None]):
    """How a checkout was paid."""

    amount_crypto = s.CharField()
    crypto_currency = s.CharField()
    network = s.CharField()
    tx_hash = s.CharField()
    sender_address = s.CharField()
    confirmed_at = s.DateTimeField(allow_null=True)


class CreditedTransfer(s.Serializer[None]):
    """One on-chain transfer credited to a checkout."""

    chain = s.CharField()
    token = s.CharField()
    amount = s.CharField()
    tx_hash = s.CharField()
    position = s.IntegerField()
    sender_address = s.CharField()
    confirmations = s.IntegerField()
    required_confirmations = s.IntegerField()
    status = s.ChoiceField(choices=TransferState.choices)
    in_doubt = s.BooleanField(
        help_text="Its chain was halted because it contradicts what was read. Hold the order until a person has looked."
    )
    detected_at = s.DateTimeField()
    confirmed_at = s.DateTimeField(allow_null=True)


class Checkout(s.Serializer[None]):
    """A checkout."""

    id = s.CharField()
    status = s.ChoiceField(choices=CheckoutStatus.choices)
    amount = s.CharField(help_text="What you asked for, in `currency`.")
    currency = s.CharField()
    quote = Quote(required=False, help_text="Absent where the currency is USD.")
    dues = s.DictField(
        child=Due(), required=False, help_text="By token. Absent where all tokens that it offers are one USD each."
    )
    description = s.CharField(allow_null=True)
    metadata = s.DictField()
    checkout_url = s.URLField()
    references = References()
    payment = Payment(allow_null=True)
    expires_at = s.DateTimeField(
        help_text="Moves once a tenth of the price is seen before it, so that 15 minutes are left for the rest."
    )
    created_at = s.DateTimeField()
    livemode = s.BooleanField()
    amount_received = s.CharField(
        help_text="In tokens, one for a dollar, whatever the currency. Of a token in `dues`, its share of the price."
    )
    amount_remaining = s.CharField(help_text="In tokens, too.")
    amount_refunded = s.CharField(help_text="What refunds sent back of its payments.")
    exception = s.ChoiceField(
        choices=CheckoutException.choices,
        allow_null=True,
        help_text="`underpaid` of a completed checkout: your team accepted less than the price.",
    )
    paid_at = s.DateTimeField(allow_null=True)
    cancelled = s.BooleanField(help_text="Whether you ended it before it was paid. Its status is `expired` then.")
    replaces = s.CharField(
        allow_null=True, help_text="The expired checkout whose late money was accepted into this one."
    )
    replaced_by = s.CharField(
        allow_null=True, help_text="The checkout that took this one's late money over. This one stays as it was."
    )
    transfers = CreditedTransfer(many=True)
    escrow = s.BooleanField()
    escrow_status = s.ChoiceField(choices=EscrowStatus.choices, allow_null=True)
    escrow_released_by = s.ChoiceField(
        choices=ReleasedBy.choices,
        allow_null=True,
        help_text="`external`: a stranger paid the gas that took it to your wallet.",
    )


class ChainOption(s.Serializer[None]):
    """A chain a checkout can be paid on."""

    chain = s.CharField()
    name = s.CharField()
    tokens = s.ListField(child=s.CharField())
    estimatedConfirmSec = s.IntegerField()
    gasTier = s.ChoiceField(choices=["low", "medium", "high"])
    priority = s.IntegerField()
    badge = s.CharField(allow_null=True)
    exactAmountRequired = s.BooleanField(
        help_text="The amount alone says whose payment it is. Address and amount are null until the option is chosen."
    )
    address = s.CharField(
        allow_null=True,
        help_text="Where to send it. On exact-amount chains this is the merchant's own wallet, the same for every checkout.",
    )
    payAmount = s.CharField(
        allow_null=True, help_text="What to send, with six decimals. On exact-amount chains every digit counts."
    )
    paymentUri = s.CharField(
        allow_null=True,
        help_text="ERC-681, Solana Pay or ton:// link with token and amount. Null on Tron, which has no such standard.",
    )
    due = s.DictField(
        child=s.CharField(),
        required=False,
        help_text="What to send instead in each token that is not one USD. Absent where there is none.",
    )
    gasFree = s.BooleanField(
        required=False,
        help_text="True where the payer may sign the transfer and Florin sends it, without a network fee for the payer:"
        " `POST /checkouts/{id}/authorization`. Absent elsewhere.",
    )


class PaymentAuthorization(s.Serializer[None]):
    """Body of `POST /checkouts/{id}/authorization`: `chain` and `account` first, then `ticket` and `signature`."""

    chain = s.CharField(required=False, help_text="An offered chain with `gasFree`. Its first token is paid.")
    account = s.CharField(required=False, help_text="The payer's address on it.")
    ticket = s.CharField(required=False, help_text="As it was answered.")
    signature = s.CharField(
        required=False,
        help_text="Of `typed_data` (`eth_signTypedData_v4`), in hexadecimal: 65 bytes, or what a contract wallet gives.",
    )


class AuthorizedPayment(s.Serializer[None]):
    """What the payer signs, with its ticket; once it is signed, the transaction that was sent."""

    typed_data = s.DictField(required=False, help_text="The object to sign (EIP-712).")
    transaction = s.CharField(
        required=False, help_text="On Solana instead: the transaction to sign without sending it, in base64."
    )
    ticket = s.CharField(
        required=False, help_text="Send it back with the signature, within ten minutes; on Solana within one."
    )
    tx_hash = s.CharField(required=False, help_text="Empty with test keys, which send nothing.")


class Notice(s.Serializer[None]):
    """A field of the request that was left out, and why."""

    param = s.CharField()
    code = s.ChoiceField(choices=["email_unusable"])
    message = s.CharField()


class CreatedCheckout(Checkout):
    """A checkout with the chains it can be paid on."""

    available_chains = ChainOption(many=True)
    notices = Notice(many=True)


class OptionChoice(s.Serializer[None]):
    """Body of `POST /checkouts/{id}/options`."""

    chain = s.CharField()
    token = s.CharField()


CheckoutList = paginated("CheckoutList", Checkout)
