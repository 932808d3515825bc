"""The chain registry bound to Django's settings, and addresses of any chain."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from django.conf import settings

from wallets.chains.family import TOKEN_DECIMALS, ChainSpec, Network
from wallets.chains.registry import FAMILIES, facts_of, load_chains

EUROS: Final = frozenset({"EURC", "EURT"})
"""Tokens of euros that chains list: what counts dollars leaves them out, whether machines may pay with them or not."""


class _Loaded:
    """Caches the registry until the settings change."""

    def __init__(self) -> None:
        self._network = ""
        self._settings: Mapping[str, str] = {}
        self._known: Mapping[str, ChainSpec] = MappingProxyType({})
        self._listed: Mapping[str, ChainSpec] = MappingProxyType({})

    def known(self) -> Mapping[str, ChainSpec]:
        self._refresh()
        return self._known

    def listed(self) -> Mapping[str, ChainSpec]:
        self._refresh()
        return self._listed

    def _refresh(self) -> None:
        network, given = settings.CHAIN_NETWORK, settings.CHAIN_SETTINGS
        if self._settings is given and self._network == network:
            return
        known = load_chains(network, given)
        listed = {name: spec for name, spec in known.items() if spec.rpc_urls or not facts_of(name).is_optional}
        self._network, self._settings = network, given
        self._known, self._listed = MappingProxyType(known), MappingProxyType(listed)


_loaded = _Loaded()


def chains() -> Mapping[str, ChainSpec]:
    """Return this installation's chains by name, sorted by priority: all but optional ones without a node.

    Raises ChainConfigError, as the system checks do first.
    """
    return _loaded.listed()


def known_chains() -> Mapping[str, ChainSpec]:
    """Return every known chain by name: what was stored stays readable after an optional chain lost its nodes."""
    return _loaded.known()


def chain_spec(name: str) -> ChainSpec:
    """Return one chain, listed or not. Raises KeyError for an unknown name."""
    return known_chains()[name]


def chain_title(name: str) -> str:
    """Return a chain's name for people."""
    return chain_spec(name).title


def chain_choices() -> list[tuple[str, str]]:
    """Return the chains that a list can be filtered by: names and titles."""
    return [(spec.name, spec.title) for spec in chains().values()]


def round_price_chains(word: str) -> str:
    """Return the titles of this installation's chains with deposit addresses, `word` before the last: Base or Polygon."""
    *others, last = (spec.title for spec in chains().values() if not spec.exact_amount_required)
    return f"{', '.join(others)} {word} {last}" if others else last


def token_choices() -> list[tuple[str, str]]:
    """Return the accepted tokens that a list can be filtered by."""
    return [(symbol, symbol) for symbol in accepted_tokens()]


def is_accepted(chain: str, symbol: str) -> bool:
    """Whether a token can pay a checkout; look-alikes are only recorded."""
    token = chain_spec(chain).tokens.get(symbol)
    return token is not None and token.accepted


def takes_from_machines(chain: str, symbol: str) -> bool:
    """Whether machines can pay with a token: one that pays checkouts, or of another currency where the operator takes it."""
    token = chain_spec(chain).tokens.get(symbol)
    return token is not None and bool(token.peg)


def is_of_dollars(symbol: str) -> bool:
    """Whether a recorded token is one of a dollar, accepted or not, so that a person may count it as dollars."""
    return symbol not in EUROS


def decimals_of(chain: str, symbol: str) -> int:
    """Return a recorded token's decimals; six for one that is not listed any more."""
    token = chain_spec(chain).tokens.get(symbol)
    return token.decimals if token is not None else TOKEN_DECIMALS


def six_decimals(chain: str, symbol: str, units: int) -> int:
    """Return a token's base units as if it had six decimals, cut, to compare them with a price."""
    more = decimals_of(chain, symbol) - TOKEN_DECIMALS
    return units // int(10**more) if more > 0 else units * int(10**-more)


def accepted_tokens() -> list[str]:
    """Return the symbols of the tokens accepted on any chain, sorted."""
    return sorted({token.symbol for spec in chains().values() for token in spec.accepted_tokens})


def machine_tokens() -> list[str]:
    """Return the symbols of the tokens that machines can pay with on any chain, sorted."""
    return sorted({token.symbol for spec in chains().values() for token in spec.machine_tokens})


def machine_token_choices() -> list[tuple[str, str]]:
    """Return the tokens of machines that a list can be filtered by."""
    return [(symbol, symbol) for symbol in machine_tokens()]


def watched_chains() -> list[ChainSpec]:
    """Return the chains that have a node, so a watcher can read them."""
    return [spec for spec in chains().values() if spec.rpc_urls]


def address_on(spec: ChainSpec, text: str) -> str:
    """Return an address in its chain's canonical form. Raises AddressError."""
    return spec.family.canonical_address(text, is_testnet=spec.network == Network.TESTNET)


def shown_address(address: str) -> str:
    """Return an address as wallets show it: on TON in non-bounceable form, elsewhere unchanged.

    For display only: stored, compared and API addresses are canonical. Other text is returned unchanged.
    """
    for family in FAMILIES:
        shown = family.shown_address(address)
        if shown is not None:
            return shown
    return address


def reads_accounts(spec: ChainSpec) -> bool:
    """Whether a chain can only be read account by account."""
    return spec.family.reads_accounts


def poll_seconds(spec: ChainSpec) -> float:
    """Return how often to ask a chain for a new block; slow chains are asked less often."""
    if spec.poll_seconds is not None:
        return spec.poll_seconds
    poll: float = settings.CHAIN_POLL_SECONDS
    return poll if spec.is_local else max(poll, spec.block_seconds / 4)
