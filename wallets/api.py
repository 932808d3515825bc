"""`GET /chains`, for building a network selector."""

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as s
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.core.api.openapi import errors, listed
from gateway.core.api.rate_limits import Limit
from gateway.core.api.serializers import Answer
from gateway.core.api.views import ApiViewSet
from wallets.chains.family import ChainSpec
from wallets.networks import chains
from wallets.selectors import chain_statuses, down_reasons
from wallets.states import ChainStatus, DownReason


class TokenContract(Answer):
    """A token on one chain."""

    address = s.CharField()
    decimals = s.IntegerField()


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

    def get_tokens(self, spec: ChainSpec) -> list[str]:
        """Return the symbols of accepted tokens."""
        return [token.symbol for token in spec.accepted_tokens]

    def get_tokenContracts(self, spec: ChainSpec) -> dict[str, dict[str, object]]:  # noqa: N802 - the field's name
        """Return each accepted token's contract, by symbol."""
        return {token.symbol: TokenContract.of(token) for token in spec.accepted_tokens}


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
        data = [Chain.of(spec, status=statuses[name], reason=reasons[name]) for name, spec in chains().items()]
        return Response({"data": data})
