"""The chains of this installation: published facts combined with the operator's settings, and pools of their nodes.

Settings are a mapping without their `CHAIN_` prefix. For a chain such as `base`:

    BASE_NETWORK        mainnet, testnet or local; the installation's network unless given
    BASE_RPC_URLS       comma-separated, the preferred node first; without any the chain is known and not offered
    BASE_CHAIN_ID       the id its nodes must report
    BASE_TOKEN_USDC     a token's contract; `USDC.e` is spelled USDC_E
    BASE_TOKENS         comma-separated, the chain's own tokens and those that machines may pay with beside them, such as USDC,EURC
    BASE_CHECKOUT_TOKENS  the same, of tokens that new checkouts offer
    BASE_CONFIRMATIONS  how many blocks make a transfer final, its own included
    BASE_START_BLOCK    where to begin reading a chain never read before; default its head, 0 on a local network
    BASE_POLL_SECONDS   how often to ask for a new block
    BASE_API_KEYS       the providers' keys, in the order of the nodes, sent as the header that the chain's providers read;
                        a place may be left empty
    BASE_REQUESTS_PER_MINUTE  how many requests its nodes may be asked, where accounts are read one by one
    BASE_LARGE_AMOUNT_USD     from this amount on a transfer waits until the chain itself calls it final, and until a second
                        node reports it; 0 turns that off
    BASE_WS_URL         a node's WebSocket, ws:// or wss://, that pushes new blocks (EVM chains) or payments (Solana); the watcher still polls
    TRON_GRID_URLS      TronGrid's REST interface, against which Tron's JSON-RPC is checked
"""

import re
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import zip_longest
from typing import Final, Generic, TypeVar
from urllib.parse import urlsplit

from wallets.chains.base import AddressError
from wallets.chains.facts import CHAINS as PUBLISHED
from wallets.chains.family import (
    TOKEN_DECIMALS,
    ChainFacts,
    ChainFamily,
    ChainSpec,
    Network,
    NetworkFacts,
    TokenDomain,
    TokenSpec,
)
from wallets.chains.rpc.pool import RpcPool

CHAINS: tuple[ChainFacts, ...] = tuple(sorted(PUBLISHED, key=lambda facts: facts.priority))
"""All chains, sorted by priority. A family is known by its chains: this is the only list of either."""

FAMILIES: Final = tuple(dict.fromkeys(facts.family for facts in CHAINS))

KEYS: Final = (
    "NETWORK",
    "RPC_URLS",
    "CHAIN_ID",
    "CONFIRMATIONS",
    "START_BLOCK",
    "POLL_SECONDS",
    "API_KEYS",
    "REQUESTS_PER_MINUTE",
    "LARGE_AMOUNT_USD",
    "TOKENS",
    "CHECKOUT_TOKENS",
)
_GLOBAL_KEYS: Final = {"NETWORK", "POLL_SECONDS", "IDLE_SECONDS"}
DEFAULT_LARGE_AMOUNT_USD: Final = 10_000
_MOST_CONFIRMATIONS: Final = 1_000


T = TypeVar("T")


class ChainConfigError(ValueError):
    """A setting cannot be used. `setting` is its full name; the message never repeats its value."""

    def __init__(self, setting: str, message: str) -> None:
        super().__init__(f"{setting}: {message}")
        self.setting = setting


def load_chains(network: str, settings: Mapping[str, str]) -> dict[str, ChainSpec]:
    """Return every known chain by name, sorted by priority. Raises ChainConfigError for the first bad setting."""
    return {facts.name: load_chain(facts, network=network, settings=settings) for facts in CHAINS}


def load_chain(facts: ChainFacts, *, network: str, settings: Mapping[str, str]) -> ChainSpec:
    """Return one chain as the settings have it. Raises ChainConfigError."""
    reader = _Reader(facts, settings)
    chosen = reader.network(network)
    published = facts.testnet if chosen is Network.TESTNET else facts.mainnet
    is_local = chosen is Network.LOCAL
    chain_id = reader.integer("CHAIN_ID", published.chain_id, low=1, high=2**63 - 1)
    return ChainSpec(
        name=facts.name,
        title=facts.title,
        family=facts.family,
        network=chosen,
        chain_id=chain_id,
        tokens={token.symbol: token for token in reader.tokens(published, is_testnet=chosen is Network.TESTNET)},
        exact_amount_required=facts.exact_amount_required,
        estimated_confirm_seconds=facts.confirm_seconds,
        block_seconds=facts.block_seconds,
        confirmations=reader.integer("CONFIRMATIONS", facts.confirmations, low=1, high=_MOST_CONFIRMATIONS)
        or facts.confirmations,
        # A local node has no validators whose votes would move the tag.
        finality_tag=None if is_local else facts.finality_tag,
        gas_tier=facts.gas_tier,
        priority=facts.priority,
        badge=facts.badge,
        explorer_tx=None if is_local else published.explorer_tx,
        explorer_address=None if is_local else published.explorer_address,
        rpc_urls=reader.urls("RPC_URLS"),
        start_block=reader.integer("START_BLOCK", 0 if is_local else None, low=0, high=2**63 - 1),
        poll_seconds=reader.seconds("POLL_SECONDS"),
        api_keys=reader.api_keys(),
        requests_per_minute=reader.requests_per_minute(),
        large_units=reader.large_units(),
        grid_urls=reader.grid_urls(),
        ws_url=reader.ws_url(),
        x402_confirmations=facts.x402_confirmations,
        x402_name=_x402_name(facts, chosen, chain_id),
        caip2=published.caip2 or (f"eip155:{chain_id}" if chain_id else None),
        coin=facts.coin,
        gas=facts.gas,
        buyer_fee=facts.buyer_fee,
        apps=facts.apps,
    )


def open_pool(spec: ChainSpec) -> RpcPool:
    """Return a pool of the chain's nodes, without asking any of them yet."""
    pairs = zip_longest(spec.rpc_urls, spec.api_keys, fillvalue="")
    nodes = [spec.family.open_node(url, api_key=key) for url, key in pairs]
    return RpcPool(nodes, identify=spec.family.identify(spec))


class KeptPerThread(threading.local, Generic[T]):
    """One object per thread and chain, because pools are not thread-safe. It is replaced when the chain's settings change.

    `open_` makes it, and `close` closes its connections when it is replaced.
    """

    def __init__(self, open_: Callable[[ChainSpec], T], *, close: Callable[[T], None] = lambda _: None) -> None:
        self._open = open_
        self._close = close
        self._kept: dict[str, tuple[ChainSpec, T]] = {}

    def of(self, spec: ChainSpec) -> T:
        """Return this thread's object for a chain."""
        known = self._kept.get(spec.name)
        if known is not None and known[0] == spec:
            return known[1]
        if known is not None:
            self._close(known[1])
        opened = self._open(spec)
        self._kept[spec.name] = (spec, opened)
        return opened


def _x402_name(facts: ChainFacts, network: Network, chain_id: int | None) -> str | None:
    """Return the network's name in version 1: by its chain id, regardless of the settings; without one, by its kind."""
    if chain_id is None:
        return (facts.testnet if network is Network.TESTNET else facts.mainnet).x402_name
    names = {one.chain_id: one.x402_name for one in (facts.mainnet, facts.testnet)}
    return names.get(chain_id)


def family_called(name: str) -> ChainFamily:
    """Return the family of this name. Raises KeyError."""
    return {family.name: family for family in FAMILIES}[name]


def facts_of(chain: str) -> ChainFacts:
    """Return a chain's published facts. Raises KeyError."""
    return {facts.name: facts for facts in CHAINS}[chain]


def unknown_settings(settings: Mapping[str, str]) -> list[str]:
    """Return the full names of settings that look like a chain's but are not used."""
    known = set(_GLOBAL_KEYS)
    for facts in CHAINS:
        prefix = facts.name.upper()
        known |= {f"{prefix}_{key}" for key in (*KEYS, *facts.family.own_settings)}
        known |= {_token_key(facts, symbol) for symbol in _symbols(facts)}
    return sorted(f"CHAIN_{key}" for key in settings if key not in known)


def _symbols(facts: ChainFacts) -> tuple[str, ...]:
    return (*facts.symbols, *facts.mainnet.wrong_tokens)


def _token_key(facts: ChainFacts, symbol: str) -> str:
    return f"{facts.name}_TOKEN_{re.sub('[^A-Za-z0-9]', '_', symbol)}".upper()


class _Reader:
    """Reads one chain's settings."""

    def __init__(self, facts: ChainFacts, settings: Mapping[str, str]) -> None:
        self._facts = facts
        self._settings = settings

    def _key(self, name: str) -> str:
        return f"{self._facts.name}_{name}".upper()

    def _text(self, name: str) -> str:
        return self._settings.get(self._key(name), "").strip()

    def _error(self, name: str, message: str) -> ChainConfigError:
        return ChainConfigError(f"CHAIN_{self._key(name)}", message)

    def network(self, default: str) -> Network:
        text = self._text("NETWORK")
        try:
            return Network(text or default)
        except ValueError:
            message = f"must be one of {', '.join(Network)}."
            if not text:
                raise ChainConfigError("CHAIN_NETWORK", message) from None
            raise self._error("NETWORK", message) from None

    def integer(self, name: str, default: int | None, *, low: int, high: int) -> int | None:
        text = self._text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and low <= int(text[:20]) <= high):
            raise self._error(name, f"must be a whole number from {low} to {high}.")
        return int(text)

    def seconds(self, name: str) -> float | None:
        text = self._text(name)
        if not text:
            return None
        if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,3})?", text) or not float(text):
            raise self._error(name, "must be a positive number of seconds.")
        return float(text)

    def requests_per_minute(self) -> int:
        usual = self._facts.requests_per_minute
        asked = self.integer("REQUESTS_PER_MINUTE", usual, low=6, high=1_000_000)
        return asked or usual

    def grid_urls(self) -> tuple[str, ...]:
        if "GRID_URLS" not in self._facts.family.own_settings:
            return ()
        return self.urls("GRID_URLS")

    def ws_url(self) -> str | None:
        text = self._text("WS_URL")
        if not text or "WS_URL" not in self._facts.family.own_settings:
            return None
        if not _is_url(text, schemes={"ws", "wss"}):
            raise self._error("WS_URL", "must be a ws or wss address.")
        return text

    def large_units(self) -> int | None:
        dollars = self.integer("LARGE_AMOUNT_USD", DEFAULT_LARGE_AMOUNT_USD, low=0, high=10**12)
        return dollars * 10**TOKEN_DECIMALS if dollars else None

    def api_keys(self) -> tuple[str, ...]:
        text = self._text("API_KEYS")
        keys = tuple(part.strip() for part in text.split(",")) if text else ()
        if len(keys) > len(self.urls("RPC_URLS")):
            raise self._error("API_KEYS", "has more keys than there are nodes.")
        return keys

    def urls(self, name: str) -> tuple[str, ...]:
        parts = [part.strip() for part in self._text(name).split(",")]
        urls = tuple(part for part in parts if part)
        if not all(_is_url(url, schemes={"http", "https"}) for url in urls):
            raise self._error(name, "must be http or https addresses.")
        if len(set(urls)) != len(urls):
            raise self._error(name, "names a node twice.")
        return urls

    def other_pegs(self) -> Mapping[str, str]:
        """Return the currencies of the tokens that machines may pay with beside the chain's own, by symbol."""
        others = self._facts.other_pegs
        named = self._named("TOKENS", others)
        return {symbol: peg for symbol, peg in others.items() if symbol in named}

    def offered_pegs(self, pegs: Mapping[str, str]) -> Collection[str]:
        """Return which of the tokens of other currencies new checkouts offer; machines may pay with each of them."""
        named = self._named("CHECKOUT_TOKENS", pegs)
        offered = [symbol for symbol in pegs if symbol in named]
        if offered and self._facts.exact_amount_required:
            raise self._error(
                "CHECKOUT_TOKENS", "can name the chain's own tokens only: its checkouts have no address of their own."
            )
        return offered

    def _named(self, name: str, others: Mapping[str, str]) -> list[str]:
        named = [part.strip() for part in self._text(name).split(",") if part.strip()]
        own = self._facts.symbols
        if named and not set(own) <= set(named):
            raise self._error(name, f"must name {' and '.join(own)} too, which checkouts are paid in.")
        if not set(named) <= {*own, *others}:
            raise self._error(name, f"can name {', '.join((*own, *others))} and no others.")
        return named

    def tokens(self, published: NetworkFacts, *, is_testnet: bool) -> Iterator[TokenSpec]:
        pegs = self.other_pegs()
        offered = self.offered_pegs(pegs)
        for symbol in _symbols(self._facts):
            accepted = symbol in self._facts.symbols
            listed = published.tokens if accepted else published.wrong_tokens
            key = _token_key(self._facts, symbol)
            address = listed.get(symbol, "")
            # Published addresses are canonical already; checking them would import every chain's library.
            if text := self._settings.get(key, "").strip():
                address = self._address(text, key=key, is_testnet=is_testnet)
            if address:
                # The main network's, whose token a local one stands in for.
                decimals = self._facts.mainnet.decimals.get(symbol, TOKEN_DECIMALS)
                cut = decimals - TOKEN_DECIMALS if accepted else 0
                domain = published.domains.get(symbol) if accepted or symbol in pegs else None
                named = domain and TokenDomain(*domain)
                peg, is_offered = pegs.get(symbol, ""), symbol in offered
                yield TokenSpec(symbol, address, decimals - cut, accepted, named, peg, cut, is_offered)
            elif symbol in pegs:
                raise self._error("TOKENS", f"names {symbol}, of which no contract is known here: set CHAIN_{key}.")

    def _address(self, text: str, *, key: str, is_testnet: bool) -> str:
        try:
            return self._facts.family.canonical_address(text, is_testnet=is_testnet)
        except AddressError as error:
            raise ChainConfigError(f"CHAIN_{key}", str(error)) from None


def _is_url(url: str, *, schemes: set[str]) -> bool:
    try:
        parts = urlsplit(url)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname) and port_is_valid
