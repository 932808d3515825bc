"""The facilitator's and the standard's shapes for the OpenAPI description. No request is read by them (docs/adr/0003)."""

from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer
from rest_framework import serializers as s

from gateway.core.api.openapi import PAGE_PARAMETERS, errors
from gateway.core.api.pagination import FORMATS
from settlements.serializers import Settlement
from x402.states import PaymentStatus, Reason

__all__ = [
    "PAYMENT_PARAMETERS",
    "SETTLE_BODY",
    "VERIFY_ANSWER",
    "VERIFY_BODY",
    "OfferedResource",
    "Settled",
    "SettlementList",
    "SignedOffers",
    "Supported",
    "X402Config",
    "errors",
]

PAYMENT_PARAMETERS = [
    OpenApiParameter("chain", str),
    OpenApiParameter("token", str),
    OpenApiParameter("status", str, enum=list(PaymentStatus.values)),
    OpenApiParameter("resource", str),
    OpenApiParameter("created_after", str, description="ISO 8601, by verified_at."),
    OpenApiParameter("created_before", str, description="ISO 8601, by verified_at."),
    OpenApiParameter("format", str, enum=list(FORMATS)),
    *PAGE_PARAMETERS,
]


class SupportedPaymentAccount(s.Serializer[None]):
    """The account of ours that payers name in what they sign."""

    feePayer = s.CharField(required=False, help_text="Solana: the account that pays the network.")
    facilitatorAddress = s.CharField(required=False, help_text="`upto`: the one account that can settle the payment.")


class SupportedPayment(s.Serializer[None]):
    """A scheme and network that this facilitator settles."""

    x402Version = s.ChoiceField([1, 2])
    scheme = s.ChoiceField(["exact", "upto"])
    network = s.CharField(help_text="Version 1: a name. Version 2: CAIP-2.")
    extra = SupportedPaymentAccount(required=False)


class Supported(s.Serializer[None]):
    """Which payments are settled, and by which accounts."""

    kinds = SupportedPayment(many=True)
    extensions = s.ListField(child=s.CharField())
    signers = s.DictField(child=s.ListField(child=s.CharField()))


class StandardPayment(s.Serializer[None]):
    """A payment of the public standard, as its version says: the libraries that clients use write it."""

    x402Version = s.ChoiceField([1, 2])
    paymentPayload = s.DictField(help_text="What the payer signed.")
    paymentRequirements = s.DictField(help_text="What the resource costs.")
    receiptFor = s.CharField(
        required=False, help_text="`/settle`, version 2: the resource's URL, for a signed receipt with the answer."
    )


class Verified(s.Serializer[None]):
    """The standard's answer to a verification."""

    isValid = s.BooleanField()
    payer = s.CharField(required=False)
    invalidReason = s.CharField(required=False)
    invalidMessage = s.CharField(required=False)


class SettledPaymentReference(s.Serializer[None]):
    """Florin's own fields, in addition to the standard's."""

    paymentId = s.CharField()


class Settled(s.Serializer[None]):
    """The standard's answer to a settlement. With `settlement_pending` the transaction may still get into a block."""

    success = s.BooleanField()
    transaction = s.CharField(allow_blank=True)
    network = s.CharField(allow_blank=True)
    payer = s.CharField(required=False)
    amount = s.CharField(required=False, help_text="Version 2: base units.")
    extra = SettledPaymentReference(required=False)
    errorReason = s.CharField(required=False)
    errorMessage = s.CharField(required=False)
    extensions = s.DictField(required=False, help_text="`offer-receipt`: the receipt that `receiptFor` asked for.")


class OfferedResource(s.Serializer[None]):
    """What a 402 is about to ask for."""

    resource = s.CharField(help_text="The resource's URL.")
    accepts = s.ListField(child=s.DictField(), help_text="The 402's `accepts` of version 2: 1 to 32.")


class SignedOffers(s.Serializer[None]):
    """The standard's extension `offer-receipt` for the 402."""

    extension = s.DictField(help_text="To be put among the 402's `extensions`; empty where nothing can be signed.")
    validUntil = s.IntegerField(help_text="Unix time.")


class MissingWallet(s.Serializer[None]):
    """A network that machines could pay on."""

    chain = s.CharField()
    page = s.URLField(help_text="The dashboard's page that adds a wallet there.")


class OtherAsset(s.Serializer[None]):
    """A token of another currency than USD."""

    token = s.CharField()
    currency = s.CharField(
        help_text="ISO 4217. A token is one of it, so a price in it is another one than in `assets`."
    )
    address = s.CharField()
    decimals = s.IntegerField()
    extra = s.DictField(
        child=s.CharField(), help_text="The public standard's `extra`: the name and version that payers sign under."
    )


class X402Config(s.Serializer[None]):
    """Where machines pay a merchant."""

    payTo = s.DictField(child=s.CharField(), help_text="An address for each network.")
    networks = s.ListField(child=s.CharField())
    assets = s.DictField(child=s.ListField(child=s.CharField()), help_text="Tokens of one USD, by network.")
    otherAssets = s.DictField(
        child=OtherAsset(many=True),
        required=False,
        help_text="Tokens of other currencies, by network; absent where the operator takes none.",
    )
    scheme = s.CharField()
    settlement = s.DictField(
        child=s.ChoiceField(["batch", "direct"]),
        help_text="`batch`: money is sent on from a forwarder. `direct`: payers pay the merchant's own wallet.",
    )
    missing = MissingWallet(many=True)
    requiresSignature = s.BooleanField(
        help_text="Whether a proof by hash needs the payer's signature, as we recommend: see the dashboard's x402 page."
    )


class Proof(s.Serializer[None]):
    """A payment that a machine made: all of it strings."""

    txHash = s.CharField()
    chain = s.CharField()
    token = s.CharField()
    amount = s.CharField(help_text='Decimal, such as "0.01".')
    payerAddress = s.CharField()
    payTo = s.CharField()
    signature = s.CharField(required=False, help_text="The payer's, over the payment: see the guide.")
    publicKey = s.CharField(required=False, help_text="TON: the key that the signature is of, in hex.")


class Requirements(s.Serializer[None]):
    """What the resource costs."""

    scheme = s.ChoiceField(["exact"])
    network = s.CharField()
    maxAmountRequired = s.CharField(help_text='Decimal, such as "0.01".')
    asset = s.CharField()
    resource = s.CharField()


class VerifyPayment(s.Serializer[None]):
    """A proof by hash, and what it is to pay for."""

    payment = Proof()
    requirements = Requirements()


class VerifyAnswer(s.Serializer[None]):
    """Whether the payment pays. With `valid` the fields from `verifiedAt` to `confirmations` are there, else the others."""

    valid = s.BooleanField()
    txHash = s.CharField()
    verifiedAt = s.DateTimeField(required=False)
    paymentId = s.CharField(required=False)
    confirmations = s.IntegerField(required=False)
    reason = s.ChoiceField(Reason.choices, required=False)
    message = s.CharField(required=False)
    retryAfter = s.IntegerField(
        required=False,
        allow_null=True,
        help_text="Seconds after which the answer may be another one; null where it will not.",
    )


VERIFY_BODY = PolymorphicProxySerializer("VerifyBody", [VerifyPayment, StandardPayment], resource_type_field_name=None)
VERIFY_ANSWER = PolymorphicProxySerializer("VerifyResult", [VerifyAnswer, Verified], resource_type_field_name=None)


class SettleFunds(s.Serializer[None]):
    """What to send on to the merchant's wallet: without a field, of all chains and tokens."""

    chain = s.CharField(required=False)
    token = s.CharField(required=False)


class SettlementList(s.Serializer[None]):
    """What was written down; nothing where nothing waits."""

    settlements = Settlement(many=True)


SETTLE_BODY = PolymorphicProxySerializer("SettleBody", [SettleFunds, StandardPayment], resource_type_field_name=None)
