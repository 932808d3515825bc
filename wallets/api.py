"""The chains' API, for building a network selector."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.core.api.openapi import errors
from gateway.core.api.rate_limits import Limit
from gateway.core.api.views import ApiViewSet
from wallets.chains.family import ChainSpec
from wallets.networks import chains
from wallets.schemas import CHAIN_LIST
from wallets.selectors import chain_statuses, down_reasons
from wallets.states import ChainStatus, DownReason


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
        return Response({"data": [_chain(spec, statuses, reasons) for spec in chains().values()]})


def _chain(
    spec: ChainSpec, statuses: Mapping[str, ChainStatus], reasons: Mapping[str, DownReason | None]
) -> dict[str, Any]:
    return {
        "chain": spec.name,
        "name": spec.title,
        "chainId": spec.chain_id,
        "tokens": [token.symbol for token in spec.accepted_tokens],
        "tokenContracts": {
            token.symbol: {"address": token.address, "decimals": token.decimals} for token in spec.accepted_tokens
        },
        "exactAmountRequired": spec.exact_amount_required,
        "estimatedConfirmSec": spec.estimated_confirm_seconds,
        "confirmations": spec.confirmations,
        "gasTier": spec.gas_tier,
        "priority": spec.priority,
        "badge": spec.badge,
        "explorerTx": spec.explorer_tx,
        "status": statuses[spec.name],
        "reason": reasons[spec.name],
    }
