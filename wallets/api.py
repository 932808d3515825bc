"""`GET /chains`, for building a network selector."""

from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.core.api.openapi import errors, listed
from gateway.core.api.rate_limits import Limit
from gateway.core.api.serializers import Answer, Moment
from gateway.core.api.views import ApiViewSet
from wallets.chains.family import ChainSpec
from wallets.disruptions import Reader, Told, tell, worst_by_chain
from wallets.networks import chains
from wallets.selectors import chain_statuses, down_reasons
from wallets.states import ChainStatus, DownReason


class TokenContract(Answer):
    """A token on one chain."""

    address = s.CharField()
    decimals = s.IntegerField(source="contract_decimals")


class ChainDisruption(Answer):
    """What disrupts a chain, in the words that buyers, the status page and the dashboard have."""

    kind = s.ChoiceField(choices=["halted", "down", "sources_disagree", "delayed"])
    since = Moment(allow_null=True, help_text="Null for a chain that is late: that changes with each reading.")
    block = s.IntegerField(allow_null=True, help_text="The last block that was read of a halted chain.")
    heading = s.CharField(help_text="What is so.")
    meaning = s.CharField(help_text="What it means for payments.")
    doing = s.CharField(help_text="What Florin does about it.")
    advice = s.CharField(help_text="What a buyer should do.")

    def to_representation(self, instance: Told | None) -> Any:
        """Return the object; None for a chain that is well."""
        return None if instance is None else self.of(instance)


class Chain(Answer):
    """A supported chain."""

    chain = s.CharField(source="name")
    name = s.CharField(source="title")
    chainId = s.IntegerField(
        source="chain_id", allow_null=True, help_text="Null where the chain has no number for itself."
    )
    tokens = s.ListField(child=s.CharField())
    tokenContracts = s.DictField(child=TokenContract())
    exactAmountRequired = s.BooleanField(
        source="exact_amount_required",
        help_text="The exact amount identifies the checkout: warn buyers whose wallet rounds.",
    )
    estimatedConfirmSec = s.IntegerField(source="estimated_confirm_seconds")
    confirmations = s.IntegerField()
    gasTier = s.ChoiceField(source="gas_tier", choices=["low", "medium", "high"])
    priority = s.IntegerField(help_text="0 is the recommended chain.")
    badge = s.CharField(allow_null=True)
    explorerTx = s.CharField(
        source="explorer_tx", allow_null=True, help_text="Put the transaction hash in place of {tx}."
    )
    status = s.ChoiceField(choices=ChainStatus.choices)
    reason = s.ChoiceField(
        choices=DownReason.choices,
        allow_null=True,
        help_text="Why it is down: `halted` contradicts what was read, and a person decides. Hold orders paid on it.",
    )

    disruption = ChainDisruption(allow_null=True, help_text="Null while it is well.")

    def get_tokens(self, spec: ChainSpec) -> list[str]:
        """Return the symbols of the tokens that checkouts offer."""
        return [token.symbol for token in spec.checkout_tokens]

    def get_tokenContracts(self, spec: ChainSpec) -> dict[str, dict[str, object]]:  # noqa: N802 - the field's name
        """Return the contract of each of these, by symbol."""
        return {token.symbol: TokenContract.of(token) for token in spec.checkout_tokens}


CHAIN_LIST = listed("ChainList", Chain)


class ChainViewSet(ApiViewSet):
    """`/api/v1/chains`."""

    # The route needs no key, so requests count by client address and a wrong key has no effect.
    authentication_classes = ()
    key_required = False
    keyless_limit = Limit("chains", 60)

    @extend_schema(operation_id="listChains", tags=["Chains"], auth=[], responses={200: CHAIN_LIST, **errors(429)})
    def list(self, request: Request) -> Response:
        """List supported chains.

        The recommended chain comes first. No key is needed.
        """
        now = timezone.now()
        statuses, reasons = chain_statuses(now=now), down_reasons(now=now)
        disruptions = worst_by_chain(now=now)
        told = {name: tell(one, Reader.BUYER) for name, one in disruptions.items()}
        data = [
            Chain.of(spec, status=statuses[name], reason=reasons[name], disruption=told.get(name))
            for name, spec in chains().items()
        ]
        return Response({"data": data})
