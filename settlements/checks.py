"""System checks of the gas settings."""

import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from gateway.core.money import TOKEN_DECIMALS
from settlements.gas.keys import GasKeyError, gas_keys, solana_gas_keys
from wallets.chains.family import ChainFacts
from wallets.chains.registry import CHAINS

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]{40}", re.ASCII)
_BY_CHAIN: Final = ("GAS_MAX_GWEI", "GAS_DAILY_COINS", "GAS_LOW_COINS", "GAS_COIN_USD", "GAS_FREE_LEAST_USD")


@register()
def gas_keys_can_be_read(**_: Any) -> list[CheckMessage]:
    """Check that gas keys are valid; otherwise the first settlement would fail."""
    try:
        gas_keys()
    except GasKeyError as error:
        return [
            Error(
                f"GAS_KEYS: {error}.",
                hint="Write 0x and 64 hexadecimal digits, and a comma between two keys.",
                id="settlements.E001",
            )
        ]
    return []


@register()
def solana_gas_keys_can_be_read(**_: Any) -> list[CheckMessage]:
    """Check that Solana gas keys are valid; otherwise machines would name a fee payer that cannot sign."""
    try:
        solana_gas_keys()
    except GasKeyError as error:
        return [
            Error(
                f"GAS_KEYS_SOLANA: {error}.",
                hint="Write each key as wallets export it, 64 bytes in base58, and a comma between two keys.",
                id="settlements.E003",
            )
        ]
    return []


@register()
def limits_of_gas_are_amounts(**_: Any) -> list[CheckMessage]:
    """Check that gas limits are amounts; otherwise settlements would stop, or not be limited."""
    given = [(f"{name} of {chain}", amount) for name in _BY_CHAIN for chain, amount in getattr(settings, name).items()]
    given.append(("SWEEP_MOST_COST", settings.SWEEP_MOST_COST))
    given.append(("GAS_MERCHANT_SHARE", settings.GAS_MERCHANT_SHARE))
    return [
        Error(
            f"{name} is not an amount.",
            hint="Write a number such as 0.05; by chain, base=0.05,polygon=100.",
            id="settlements.E002",
        )
        for name, amount in given
        if not _is_amount(amount)
    ]


@register()
def free_chains_take_relays(**_: Any) -> list[CheckMessage]:
    """Check that payments without a network fee are wanted only where that is possible; a misspelt chain would do nothing."""
    possible = [facts.name for facts in CHAINS if _can_be_free(facts)]
    return [
        Error(
            f"GAS_FREE: on {chain} no payment can be sent for its payer.",
            hint=f"Write some of {', '.join(possible)}, with commas.",
            id="settlements.E004",
        )
        for chain in settings.GAS_FREE
        if chain not in possible
    ]


@register()
def factories_of_wallets_are_addresses(**_: Any) -> list[CheckMessage]:
    """Check that trusted factories are addresses; a misspelt one would never be called."""
    return [
        Error(
            f"X402_WALLET_FACTORIES: {factory} is no address.",
            hint="Write 0x and 40 hexadecimal digits, and a comma between two addresses.",
            id="settlements.E005",
        )
        for factory in settings.X402_WALLET_FACTORIES
        if not _ADDRESS.fullmatch(factory.strip())
    ]


def _can_be_free(facts: ChainFacts) -> bool:
    return facts.gas is not None and (_is_signed_for(facts) or facts.family.takes_fee_payer)


def _is_signed_for(facts: ChainFacts) -> bool:
    """Whether buyers can sign a transfer of a token that is taken there: its name is published, and its units are those that we record."""
    known = facts.mainnet
    signed = [
        one
        for one in facts.symbols
        if one in known.domains and known.decimals.get(one, TOKEN_DECIMALS) == TOKEN_DECIMALS
    ]
    return facts.family.signs_transfers and bool(signed)


def _is_amount(text: str) -> bool:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return False
    return amount.is_finite() and amount >= 0
