"""When this installation pays the network's fee of a buyer's payment: where the operator wants it, and the price is worth it."""

from decimal import Decimal
from threading import Lock
from typing import Final

from cachetools import TTLCache, cached
from django.conf import settings

from accounts.models import Merchant
from gateway.core.money import from_units
from gateway.core.postgres.replica import from_primary
from settlements.gas.fees import COIN, coin_usd, gas_facts
from settlements.gas.keys import gas_keys, solana_gas_keys
from wallets.chains.family import PaymentRequest

LEAST_TIMES: Final = 50
"""A price is at least this many times what its transaction costs at most."""


_SECONDS: Final = 10.0


def may_be_free(request: PaymentRequest, *, is_allowed: bool) -> bool:
    """Whether a payment may be sent for its payer, as far as settings and price say: no node and no database is asked.

    `is_allowed` is what its merchant says. Everything else (the day's gas, the payer's failures) is decided when it is asked for, and
    when it is sent.
    """
    spec, token = request.spec, request.spec.tokens.get(request.token)
    # What is prepared is the chain's own first token, and limits are in USD.
    if token is None or not token.accepted or spec.name not in settings.GAS_FREE or not is_allowed:
        return False
    can_send = spec.family.signs_transfers and token.domain is not None and bool(gas_keys())
    can_send = can_send or (spec.family.takes_fee_payer and bool(solana_gas_keys()))
    return can_send and from_units(request.units) >= least_price(spec.name)


def takes_free(merchant_id: int) -> bool:
    """Whether a merchant's buyers may pay so on any chain."""
    return bool(settings.GAS_FREE) and _allows(merchant_id)


@cached(TTLCache(10_000, _SECONDS), lock=Lock())
@from_primary
def _allows(merchant_id: int) -> bool:
    """Return what the merchant says; cached, because every new checkout asks."""
    return Merchant.objects.filter(pk=merchant_id, is_gas_free=True).exists()


def least_price(chain: str) -> Decimal:
    """Return the lowest price in USD that is sent for its payer on a chain. Raises KeyError for one without gas payments."""
    return Decimal(settings.GAS_FREE_LEAST_USD.get(chain, gas_facts(chain).free_least_usd))


def is_worth(chain: str, units: int, most_wei: int) -> bool:
    """Whether a price is worth the most that its transaction costs, in wei; 0 says that gas is too dear for any."""
    cost = Decimal(most_wei) / COIN * coin_usd(chain)
    return most_wei > 0 and from_units(units) >= LEAST_TIMES * cost
