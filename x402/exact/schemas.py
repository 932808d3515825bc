"""The standard's shapes for the OpenAPI description. Never used to read or write a request (docs/adr/0003)."""

from rest_framework import serializers as s

from gateway.core.api.openapi import errors

__all__ = ["Settled", "StandardPayment", "Supported", "Verified", "errors"]


class SupportedPaymentFee(s.Serializer[None]):
    """Who pays the network's fee."""

    feePayer = s.CharField(help_text="Solana: the account that pays the network.")


class SupportedPayment(s.Serializer[None]):
    """A scheme and network that this facilitator settles."""

    x402Version = s.ChoiceField([1, 2])
    scheme = s.ChoiceField(["exact"])
    network = s.CharField(help_text="Version 1: a name. Version 2: CAIP-2.")
    extra = SupportedPaymentFee(required=False)


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
