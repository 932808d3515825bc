"""How a token names itself in what is signed for it (EIP-712), compared with the digest that it really uses."""

from threading import Lock
from typing import Final

import structlog
from cachetools import TTLCache

from wallets.chains.evm.authorizations import contracts
from wallets.chains.evm.authorizations.contracts import Function, RevertedError
from wallets.chains.evm.authorizations.eip3009 import NAME, USED, VERSION
from wallets.chains.evm.authorizations.terms import DOMAIN_FIELDS
from wallets.chains.family import ChainSpec, TokenDomain, TokenSpec
from wallets.chains.rpc.pool import RpcPool
from wallets.forwarders.addresses import keccak

log = structlog.get_logger(__name__)

_DOMAIN_SEPARATOR: Final = Function("DOMAIN_SEPARATOR", answer="bytes32")
_WORD: Final = 32
# Tokens are upgraded, rarely.
_DOMAIN_SECONDS: Final = 3_600.0

# By the chain's nodes and the token; None where it takes no authorisations.
_domains: Final[TTLCache[tuple[tuple[str, ...], str], TokenDomain | None]] = TTLCache(1_000, _DOMAIN_SECONDS)
_lock: Final = Lock()


def domain_of(pool: RpcPool, spec: ChainSpec, token: str) -> TokenDomain | None:
    """Return how a token of a chain names itself; None if it takes no authorisations, or signs under another name.

    The name is the published one (`NetworkFacts.domains`), and of tokens without one what the token says. Either must give the
    token's own DOMAIN_SEPARATOR: a wallet would otherwise sign what the token refuses. Raises ChainError.
    """
    told = spec.tokens[token]
    if told.cut_decimals:
        # What is signed names the contract's units exactly, and recorded ones are cut.
        return None
    place = (tuple(spec.rpc_urls), told.address)
    with _lock:
        if place in _domains:
            return _domains[place]
    found = _ask(pool, spec, told)
    with _lock:
        _domains[place] = found
    return found


def _ask(pool: RpcPool, spec: ChainSpec, told: TokenSpec) -> TokenDomain | None:
    token = told.address
    try:
        contracts.read(pool, token, USED, spec.family.nobody, bytes(_WORD))
        own = told.domain
        domain = own or TokenDomain(contracts.read(pool, token, NAME), contracts.read(pool, token, VERSION))
        separator = contracts.read(pool, token, _DOMAIN_SEPARATOR)
    except RevertedError:
        return None
    if separator != separator_of(domain, spec.chain_id or 0, token):
        log.error("a token signs under another name than is published", chain=spec.name, token=token)
        return None
    return domain


def separator_of(domain: TokenDomain, chain_id: int, token: str) -> bytes:
    """Return the 32 bytes into which EIP-712 puts a domain."""
    kind = ",".join(f"{of} {name}" for name, of in DOMAIN_FIELDS.items())
    parts = (f"EIP712Domain({kind})".encode(), domain.name.encode(), domain.version.encode())
    words = (chain_id.to_bytes(_WORD, "big"), bytes.fromhex(token[2:]).rjust(_WORD, b"\0"))
    return keccak(b"".join((*map(keccak, parts), *words)))
