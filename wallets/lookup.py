"""Looks up a transaction by its hash on every possible chain, for buyers' and machines' questions.

A token is known by its contract, never by its name. A name that imitates a genuine token's only changes the answer's words.
"""

import re
import threading
import time
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

import structlog

from accounts.states import Mode
from gateway.core.api.rate_limits import Limit, RateState, hit
from wallets.chains.base import ChainAdapter, ChainError, FoundTransaction
from wallets.chains.family import ChainSpec
from wallets.chains.registry import CHAINS, facts_of, open_pool
from wallets.models import Transfer
from wallets.networks import chain_spec, watched_chains
from wallets.reconciliation.missed import ask_again
from wallets.transfers.hashes import UnreadableHashError, spellings

__all__ = [
    "Asked",
    "Lookup",
    "UnreadableHashError",
    "ask_again",
    "ask_on",
    "draw_look_up",
    "head_on",
    "is_imitation_on",
    "look_up",
    "look_up_on",
    "recorded",
    "spellings",
]


log = structlog.get_logger(__name__)

# Names that issuers gave their tokens, beside the symbols in the facts.
_ISSUERS_NAMES: Final = {
    "USD Coin": "USDC",
    "USD Base Coin": "USDbC",
    "Tether": "USDT",
    "Tether USD": "USDT",
    "USDT0": "USDT",
    "Euro Coin": "EURC",
    "Dai Stablecoin": "DAI",
    "USDS Stablecoin": "USDS",
    "PayPal USD": "PYUSD",
    "First Digital USD": "FDUSD",
    "TrueUSD": "TUSD",
    "Global Dollar": "USDG",
    "Ripple USD": "RLUSD",
    "Pax Dollar": "USDP",
    "Ethena USDe": "USDe",
    "Decentralized USD": "USDD",
    "World Liberty Financial USD": "USD1",
    "Gemini dollar": "GUSD",
    "Binance USD": "BUSD",
    "Frax USD": "frxUSD",
    "LUSD Stablecoin": "LUSD",
    "Curve.Fi USD Stablecoin": "crvUSD",
    "Tether EUR": "EURT",
}
# Letters of other scripts, and signs, by the Latin letters that they look like.
_ALIKE: Final = {
    "a": "аɑαᴀᎪꭺꓮ",
    "b": "вʙβᏴᗷꓐ",
    "c": "сϲᴄ₵¢Ꮯꮯᑕⲥꓚƈ",  # noqa: RUF001
    "d": "ԁժᴅđðɗɖᎠꭰᗪꓓ",
    "e": "еєεᴇᎬꭼꓰ",
    "g": "ɡցԍᏀꮐꓖ",
    "h": "һհнᎻꮋꓧ",
    "i": "іιıɪӏ",  # noqa: RUF001
    "l": "ⅼļᏞꮮꓡ",
    "n": "ոռɴꓠ",
    "o": "оοօσ0ᴏⲟꓳ",  # noqa: RUF001
    "p": "рρᴘᏢꮲⲣꓑ",
    "r": "гʀᎡꭱꓣ",
    "s": "ѕꜱ$տᏚꮪᔕꓢ",  # noqa: RUF001
    "t": "тτᴛ₮₸†ƭʈŧᎢꭲⲧꓔ",
    "u": "υսᴜцμᑌꓴ𐓶",
    "y": "уүγʏꓬ",  # noqa: RUF001
}
_LATIN: Final = str.maketrans({sign: letter for letter, signs in _ALIKE.items() for sign in signs})
_PADDING: Final = re.compile(r"[^a-z0-9]")
_LONGEST_NAME: Final = 200


DEADLINE_SECONDS: Final = 8.0

MOST_AT_ONCE: Final = 4
"""How many requests to one chain a process waits for at once: a chain with hanging nodes must not take the others' places."""
# Watchers need most of what a chain's nodes allow. A look-up sends each of them two to five requests.
_BUYERS_SHARE: Final = 5
_BUYERS_SCOPE: Final = "lookup"
_MACHINES_SHARE: Final = 4
# A separate share, so that repeated confirmations use nothing of the share of machines' look-ups.
_HEADS_SHARE: Final = 10
_LEAST_A_MINUTE: Final = 6
# Nodes close connections that are idle for long.
_IDLE_SECONDS: Final = 5.0

_free_places: Final = {facts.name: threading.BoundedSemaphore(MOST_AT_ONCE) for facts in CHAINS}


@dataclass(frozen=True, slots=True)
class Lookup:
    """The result of looking up a transaction.

    `transactions` are those that have this hash, one for each chain that knows it, sorted by the chains' priority.
    `unasked` names possible chains without an answer: no node answered in time, or their limit was reached. `head` is the
    newest block's height, if one chain was asked for it and knows the transaction.
    """

    transactions: tuple[FoundTransaction, ...]
    unasked: tuple[str, ...]
    head: int | None = None


def look_up(text: str, *, chain: str = "", asker: str = "", deadline_seconds: float = DEADLINE_SECONDS) -> Lookup:
    """Ask every chain that could have the transaction in a text, or only `chain`, in parallel, within a total deadline.

    Chains without a configured node are left out. An `asker` gets at most three quarters of the share that all have together.
    Raises UnreadableHashError.
    """
    until = time.monotonic() + deadline_seconds
    named = spellings(text)
    asked = [
        (spec.name, _ask_for(asker, spec, named[spec.name]))
        for spec in watched_chains()
        if spec.name in named and chain in ("", spec.name)
    ]
    found, unasked = [], []
    for name, question in asked:
        if question is None or not question.is_answered(until=until):
            unasked.append(name)
        elif question.found is not None:
            found.append(question.found)
    return Lookup(tuple(found), tuple(unasked))


def _ask_for(asker: str, spec: ChainSpec, tx_hash: str) -> "_ChainLookup | None":
    if not _may_ask(spec, asker, _BUYERS_SCOPE, share=_BUYERS_SHARE):
        return None
    return _ask(spec, tx_hash, _BUYERS_SCOPE, share=_BUYERS_SHARE)


def look_up_on(chain: str, tx_hash: str, *, asker: str = "", deadline_seconds: float = DEADLINE_SECONDS) -> Lookup:
    """Ask one chain for a transaction, as `ask_on` does, and wait for the answer."""
    return ask_on(chain, tx_hash, asker=asker, deadline_seconds=deadline_seconds).answer()


def ask_on(chain: str, tx_hash: str, *, asker: str = "", deadline_seconds: float = DEADLINE_SECONDS) -> "Asked":
    """Start asking one chain for a transaction in its own spelling, from the separate share of machines that paid.

    `asker` identifies the caller: each gets at most three quarters of the share, so that nonsense from strangers cannot
    block other callers.
    """
    until = time.monotonic() + deadline_seconds
    specs = {spec.name: spec for spec in watched_chains()}
    question = None
    scope = "lookup.x402"
    if chain in specs and _may_ask(specs[chain], asker, scope, share=_MACHINES_SHARE):
        question = _ask(specs[chain], tx_hash, scope, share=_MACHINES_SHARE, with_head=True)
    return Asked(chain, question, until)


def head_on(chain: str, *, deadline_seconds: float) -> int | None:
    """Return the height of a chain's newest block, from a separate share; None if no node answers in time."""
    until = time.monotonic() + deadline_seconds
    specs = {spec.name: spec for spec in watched_chains()}
    if chain not in specs:
        return None
    question = _ask(specs[chain], None, "lookup.x402.head", share=_HEADS_SHARE)
    if question is None or not question.is_answered(until=until):
        return None
    return question.head


def is_imitation_on(chain: str, token: str) -> bool:
    """Return whether an unlisted token's name imitates a genuine token's; False if no node answers."""
    spec = chain_spec(chain)
    if not spec.rpc_urls or _draw(spec, _BUYERS_SCOPE, share=_BUYERS_SHARE).exceeded:
        return False
    pool = open_pool(spec)
    try:
        return is_imitation(spec.family.token_names(pool, token), chain)
    except ChainError as error:
        log.warning("a token's names not read", chain=chain, error=str(error))
        return False
    finally:
        pool.close()


def is_imitation(names: Iterable[str], chain: str) -> bool:
    """Return whether a name of a chain's unlisted token imitates a genuine one's, in look-alike letters or with padding."""
    # A dollar sign may stand for a letter, or around the name.
    asked = (text for name in names for text in (name, name.replace("$", "")))
    return any(_plain_name(text[:_LONGEST_NAME]) in _genuine_names(chain) for text in asked)


@cache
def _genuine_names(chain: str) -> frozenset[str]:
    """Return the names of tokens that are accepted anywhere, and of the other genuine ones that are listed for the chain.

    Issuers bring their tokens to more chains than those that list them: an unlisted token of such a name may be genuine.
    """
    accepted = {symbol for facts in CHAINS for symbol in facts.symbols}
    symbols = accepted | facts_of(chain).mainnet.wrong_tokens.keys()
    issued = (name for name, symbol in _ISSUERS_NAMES.items() if symbol in symbols)
    return frozenset(map(_plain_name, (*symbols, *issued)))


def _plain_name(name: str) -> str:
    """Return a name's Latin letters and digits; marks, blanks, signs and invisible characters are left out."""
    letters = unicodedata.normalize("NFKD", name).casefold().translate(_LATIN)
    return _PADDING.sub("", letters)


class Asked:
    """A request that is in progress."""

    def __init__(self, chain: str, question: "_ChainLookup | None", until: float) -> None:
        self._chain = chain
        self._question = question
        self._until = until

    def answer(self) -> Lookup:
        """Wait for the answer, until the request's deadline."""
        question = self._question
        if question is None or not question.is_answered(until=self._until):
            return Lookup((), (self._chain,))
        return Lookup((question.found,) if question.found else (), (), question.head)


def _may_ask(spec: ChainSpec, asker: str, scope: str, *, share: int) -> bool:
    if not asker:
        return True
    allowed = max(3 * (spec.requests_per_minute // share) // 4, _LEAST_A_MINUTE)
    identity = f"{spec.name}:{asker}"
    state = hit(Limit(f"{scope}.asker", allowed), identity, now=time.time())
    return not state.exceeded


def recorded(found: FoundTransaction) -> list[Transfer]:
    """Return the recorded transfers of a transaction, of real money and any owner."""
    hashes = {found.tx_hash} | {one.tx_hash for one in found.transfers}
    rows = Transfer.objects.filter(chain=found.chain, tx_hash__in=hashes, mode=Mode.LIVE)
    return list(rows.order_by("pk"))


def draw_look_up(spec: ChainSpec) -> RateState:
    """Count a request that a buyer's page causes, as `look_up` counts its own; return the state."""
    return _draw(spec, _BUYERS_SCOPE, share=_BUYERS_SHARE)


def _draw(spec: ChainSpec, scope: str, *, share: int) -> RateState:
    # Counted for all buyers or machines of the installation together; limits per caller are elsewhere.
    allowed = max(spec.requests_per_minute // share, _LEAST_A_MINUTE)
    return hit(Limit(scope, allowed), spec.name, now=time.time())


def _ask(
    spec: ChainSpec, tx_hash: str | None, scope: str, *, share: int, with_head: bool = False
) -> "_ChainLookup | None":
    """Start to ask a chain for a transaction, or only for its head; None if it was asked too often, or too many wait."""
    if _draw(spec, scope, share=share).exceeded:
        return None
    if not _free_places[spec.name].acquire(blocking=False):
        return None
    return _ChainLookup(spec, tx_hash, with_head=with_head)


class _ChainLookup(threading.Thread):
    """Asks one chain in a daemon thread, which may outlive the deadline until its nodes time out. It uses no database."""

    def __init__(self, spec: ChainSpec, tx_hash: str | None, *, with_head: bool) -> None:
        super().__init__(daemon=True, name=f"look up {spec.name}")
        self.found: FoundTransaction | None = None
        self.head: int | None = None
        self._spec = spec
        self._with_head = with_head
        self._tx_hash = tx_hash
        self._is_answered = False
        self.start()

    def is_answered(self, *, until: float) -> bool:
        """Wait until a time of the monotonic clock; return whether `found` is the chain's answer."""
        self.join(max(until - time.monotonic(), 0.0))
        return self._is_answered

    def run(self) -> None:
        """Ask, over its own connections."""
        try:
            self._find()
        except ChainError as error:
            log.warning("not looked up", chain=self._spec.name, error=str(error))
        except Exception:
            # Any error ends the request, so that the page shows "could not be asked" instead of waiting for ever.
            log.exception("look-up failed", chain=self._spec.name)
        finally:
            _free_places[self._spec.name].release()

    def _find(self) -> None:
        adapter = _idle.take(self._spec)
        try:
            if self._tx_hash is None:
                self.head = adapter.head().block.height
            else:
                self._find_transaction(adapter, self._tx_hash)
        except BaseException:
            adapter.close()
            raise
        self._is_answered = True
        _idle.put(self._spec, adapter)

    def _find_transaction(self, adapter: ChainAdapter, tx_hash: str) -> None:
        self.found = found = adapter.find(tx_hash)
        if self._with_head and found is not None:
            told = found.head
            self.head = adapter.head().block.height if told is None else told


class _IdleAdapters:
    """Idle connections for the next request: a new one would first check its node's chain."""

    def __init__(self) -> None:
        self._adapters: dict[str, list[tuple[ChainSpec, float, ChainAdapter]]] = {}
        self._lock = threading.Lock()

    def take(self, spec: ChainSpec) -> ChainAdapter:
        """Return an adapter for exclusive use."""
        with self._lock:
            kept = self._adapters.pop(spec.name, [])
            usable = [one for one in kept if self._is_usable(spec, one)]
            self._adapters[spec.name] = usable[1:]
        for one in kept:
            if one not in usable:
                one[2].close()
        return usable[0][2] if usable else spec.family.open_adapter(spec, open_pool(spec))

    def put(self, spec: ChainSpec, adapter: ChainAdapter) -> None:
        """Keep an adapter for the next request. There are never more of them than requests at once."""
        with self._lock:
            kept = self._adapters.setdefault(spec.name, [])
            kept.append((spec, time.monotonic(), adapter))

    def _is_usable(self, spec: ChainSpec, kept: tuple[ChainSpec, float, ChainAdapter]) -> bool:
        known, since, _ = kept
        # An adapter made from other settings has other nodes.
        return known is spec and time.monotonic() - since < _IDLE_SECONDS


_idle: Final = _IdleAdapters()
