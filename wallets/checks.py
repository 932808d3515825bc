"""System checks of the chain settings, which find mistakes at start.

wallets.E001 unknown network            wallets.E005 malformed token contract, or a token that cannot be taken
wallets.E002 bad node address           wallets.E006 a node belongs to another chain (`check --deploy` asks it)
wallets.E003 bad chain id               wallets.W001 a CHAIN_ setting that nothing reads
wallets.E004 bad number                 wallets.W002 one node only, on a public network (`check --deploy`)
                                        wallets.W003 WALLET_LINKS names an app that is not known
                                        wallets.W004 an optional chain has settings and no node
                                        wallets.W005 fees of a token's payments need a rate that is not asked for
                                        wallets.W006 no wallet is known to listen at TON_CONNECT_RELAY
                                        wallets.W007 a token for checkouts needs a rate that is not asked for
wallets.E007 TON_CONNECT_RELAY is no bridge's address, or a wallet behind it is not known
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register

from wallets.chains.family import ChainSpec
from wallets.chains.registry import CHAINS, ChainConfigError, load_chain, open_pool, unknown_settings
from wallets.chains.ton import relay
from wallets.chains.wallet_apps import BY_KEY
from wallets.networks import watched_chains

TAG = "chains"
_ID_OF = {
    "_NETWORK": "wallets.E001",
    "_RPC_URLS": "wallets.E002",
    "_CHAIN_ID": "wallets.E003",
    "_CONFIRMATIONS": "wallets.E004",
    "_START_BLOCK": "wallets.E004",
    "_POLL_SECONDS": "wallets.E004",
    "_REQUESTS_PER_MINUTE": "wallets.E004",
    "_LARGE_AMOUNT_USD": "wallets.E004",
    "_API_KEYS": "wallets.E002",
    "_GRID_URLS": "wallets.E002",
    "_WS_URL": "wallets.E002",
}
_TOKEN_ID = "wallets.E005"  # noqa: S105 - a kind of mistake
_HINT = "The docstring of wallets/chains/registry.py and docs/guide/configuration.md list the chain settings."


@register(TAG)
def check_chain_settings(**_: Any) -> list[CheckMessage]:
    """Report every chain setting that is invalid or unused."""
    errors = {error.msg: error for error in _setting_errors()}
    unknown = [
        checks.Warning(f"Nothing reads {name}.", hint=_HINT, id="wallets.W001")
        for name in unknown_settings(settings.CHAIN_SETTINGS)
    ]
    idle = [
        checks.Warning(
            f"CHAIN_{key} changes nothing: {facts.title} has no node, and is listed nowhere.",
            hint=f"Set CHAIN_{facts.name.upper()}_RPC_URLS to its nodes. What was paid there is not watched until then.",
            id="wallets.W004",
        )
        for facts in CHAINS
        if facts.is_optional and not settings.CHAIN_SETTINGS.get(f"{facts.name}_RPC_URLS".upper(), "").strip()
        for key, text in sorted(settings.CHAIN_SETTINGS.items())
        if text.strip()
        and key.startswith(f"{facts.name}_".upper())
        and f"CHAIN_{key}" not in unknown_settings(settings.CHAIN_SETTINGS)
    ]
    return [*errors.values(), *unknown, *idle]


@register(TAG)
def check_wallet_links(**_: Any) -> list[CheckMessage]:
    """Report names in WALLET_LINKS of which no app is known. Pages leave them out."""
    hint = f"Known are {', '.join(BY_KEY)}."
    return [
        checks.Warning(f"WALLET_LINKS names {key!r}, which is no wallet app.", hint=hint, id="wallets.W003")
        for key in settings.WALLET_LINKS or ()
        if key.strip() not in BY_KEY
    ]


@register(TAG)
def check_relay(**_: Any) -> list[CheckMessage]:
    """Report a bridge of TON Connect that pages cannot use: they offer nothing then."""
    url, keys = settings.TON_CONNECT_RELAY, settings.TON_CONNECT_RELAY_WALLETS
    if not url:
        return []
    if not relay.is_bridge(url):
        hint = "Give an https address without credentials and query, such as https://bridge.example/bridge."
        return [Error(f"TON_CONNECT_RELAY is {url!r}, which is no bridge's address.", hint=hint, id="wallets.E007")]
    known = f"Known are {', '.join(relay.BY_KEY)}."
    unknown = [key for key in keys if key not in relay.BY_KEY]
    if unknown:
        words = (f"TON_CONNECT_RELAY_WALLETS names {key!r}, which is no wallet app." for key in unknown)
        return [Error(word, hint=known, id="wallets.E007") for word in words]
    if relay.open_relay(url, keys):
        return []
    return [
        checks.Warning(
            "No wallet is known to listen at TON_CONNECT_RELAY, so pages offer none.",
            hint=f"Name those that it forwards to in TON_CONNECT_RELAY_WALLETS. {known}",
            id="wallets.W006",
        )
    ]


@register(TAG)
def check_other_currencies(**_: Any) -> list[CheckMessage]:
    """Warn where fees are charged, and a token is taken of a currency whose rate is not asked for."""
    if not settings.CHARGE_FEES or any(_setting_errors()):
        return []
    return [
        checks.Warning(
            f"CHAIN_{spec.name.upper()}_TOKENS takes {token.symbol}, and no rate of {token.peg} is asked for.",
            hint=f"Add {token.peg} to PRICE_CURRENCIES: a payment in {token.symbol} has no fee while there is no rate.",
            id="wallets.W005",
        )
        for spec in watched_chains()
        for token in spec.machine_tokens
        if not token.accepted and token.peg not in settings.PRICE_CURRENCIES
    ]


@register(TAG)
def check_offered_currencies(**_: Any) -> list[CheckMessage]:
    """Warn where checkouts should offer a token of a currency whose rate is not asked for: none does."""
    if any(_setting_errors()):
        return []
    return [
        checks.Warning(
            f"CHAIN_{spec.name.upper()}_CHECKOUT_TOKENS names {token.symbol}, and no rate of {token.peg} is asked for.",
            hint=f"Add {token.peg} to PRICE_CURRENCIES: checkouts offer {token.symbol} only while there is a rate.",
            id="wallets.W007",
        )
        for spec in watched_chains()
        for token in spec.checkout_tokens
        if not token.accepted and token.peg not in settings.PRICE_CURRENCIES
    ]


@register(TAG, deploy=True)
def check_nodes(**_: Any) -> list[CheckMessage]:
    """Ask the nodes whether they belong to their chains."""
    if any(_setting_errors()):
        return []
    return [message for spec in watched_chains() for message in _node_messages(spec)]


def _setting_errors() -> Iterator[Error]:
    for facts in CHAINS:
        try:
            load_chain(facts, network=settings.CHAIN_NETWORK, settings=settings.CHAIN_SETTINGS)
        except ChainConfigError as error:
            yield Error(str(error), hint=_HINT, id=_id_of(error.setting))


def _id_of(setting: str) -> str:
    return next((i for end, i in _ID_OF.items() if setting.endswith(end)), _TOKEN_ID)


def _node_messages(spec: ChainSpec) -> Iterator[CheckMessage]:
    setting = f"CHAIN_{spec.name.upper()}_RPC_URLS"
    with closing(open_pool(spec)) as pool:
        for mismatch in pool.mismatches():
            hint = f"Correct {setting}, or CHAIN_NETWORK if it is meant to be another network."
            yield Error(f"{mismatch}.", hint=hint, id="wallets.E006")
    if len(spec.rpc_urls) == 1 and not spec.is_local:
        yield checks.Warning(
            f"{spec.title} is read from one node only.",
            hint=f"Name a second provider in {setting}: for when the first fails, to notice what it leaves out, and because"
            " large payments are believed on one node's word otherwise.",
            id="wallets.W002",
        )
