"""Shapes of chain metadata for the OpenAPI description. Never used to write an answer."""

from rest_framework import serializers as s

from gateway.core.api.openapi import listed
from wallets.states import ChainStatus, DownReason


class TokenContract(s.Serializer[None]):
    """A token on one chain."""

    address = s.CharField()
    decimals = s.IntegerField()


class Chain(s.Serializer[None]):
    """A supported chain."""

    chain = s.CharField()
    name = s.CharField()
    chainId = s.IntegerField(allow_null=True, help_text="Null where the chain has no number for itself.")
    tokens = s.ListField(child=s.CharField())
    tokenContracts = s.DictField(child=TokenContract())
    exactAmountRequired = s.BooleanField(
        help_text="The exact amount identifies the checkout: warn buyers whose wallet rounds."
    )
    estimatedConfirmSec = s.IntegerField()
    confirmations = s.IntegerField()
    gasTier = s.ChoiceField(choices=["low", "medium", "high"])
    priority = s.IntegerField(help_text="0 is the recommended chain.")
    badge = s.CharField(allow_null=True)
    explorerTx = s.CharField(allow_null=True, help_text="Put the transaction hash in place of {tx}.")
    status = s.ChoiceField(choices=ChainStatus.choices)
    reason = s.ChoiceField(
        choices=DownReason.choices,
        allow_null=True,
        help_text="Why it is down: `halted` contradicts what was read, and a person decides. Hold orders paid on it.",
    )


CHAIN_LIST = listed("ChainList", Chain)
