"""Asks a chain what an address is before a merchant receives there: nothing is stored that loses the money."""

import time
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gateway.core.api.errors import InvalidRequestError, RateLimitError, UnavailableError
from gateway.core.api.rate_limits import Limit, hit
from wallets.chains.accounts import AccountKind, most_dangerous
from wallets.chains.adapters import open_pool
from wallets.chains.base import ChainError
from wallets.chains.specs import ChainSpec
from wallets.networks import chain_spec, chains
from wallets.receiving.service import usable_address

_ASKED: Final = Limit("wallet.inspection", 20)
"""The limit of addresses that a merchant looks up in a minute."""

_SECONDS: Final = 12.0
"""How long all questions about an address take together."""

_REFUSED: Final = {
    AccountKind.TOKEN: "is a token contract: money sent there is lost.",
    AccountKind.TOKEN_ACCOUNT: "is a token account, not a wallet. Give the address of the wallet that owns it.",
    AccountKind.VAULT: "is a vault that belongs to its shareholders (ERC-4626): money sent there is lost.",
    AccountKind.NFT: "is an NFT: money sent there is lost.",
    AccountKind.PROGRAM: "is a program or an account of a program, not a wallet. Of a multisig, give the vault's address.",
    AccountKind.CONTRACT: "is a contract that does not answer as a wallet does, such as a router or an exchange.",
    AccountKind.FROZEN: "is frozen by its network.",
    AccountKind.EMPTY: "has no key, and nothing is there yet. If it is a vault, send it a little of the network's coin first.",
}
_DOUBTFUL: Final = frozenset({AccountKind.CONTRACT, AccountKind.EMPTY})
_NO_NODE: Final = (
    "No node of {} is configured, so the address cannot be checked. Nothing was saved. The operator sets one."
)
_SILENT: Final = "No node of {} answers, so the address cannot be checked. Nothing was saved. Try again in a minute."
_CONTRACT: Final = (
    "This is a contract on {title}, not a key's own account. Go on only if you or your team control it on {title}: a vault, "
    "a multisig or a smart account. Some wallets do not pay such an address."
)
_ELSEWHERE: Final = (
    "This is a contract on {other}, and on {title} nothing is there. A contract wallet belongs to you only on the networks "
    "where it was made: money sent to it on {title} can be lost."
)


class DoubtfulError(InvalidRequestError):
    """What is at an address does not answer as a wallet; that need not lose the money, and may be another tomorrow."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """An address in canonical form. `warning` says why it needs a typed confirmation or a proof; None for a key's account."""

    address: str
    warning: str | None = None


def inspect(chain: str, address: str, *, now: datetime, asker: str | None = None) -> Inspected:
    """Return what an address is, as the chain's nodes say; of several, the worst answer counts.

    `asker` is who is limited. Holds no row while nodes are asked. Raises InvalidRequestError (chain_unsupported,
    address_invalid) for an address that would lose the money, DoubtfulError if it may, UnavailableError if no node can say
    in time, and RateLimitError.
    """
    canonical = usable_address(chain, address)
    spec = chain_spec(chain)
    if asker is not None:
        limited = hit(_ASKED, asker, now=now.timestamp())
        if limited.exceeded:
            raise RateLimitError(max(1, limited.reset - int(now.timestamp())))
    deadline = time.monotonic() + _SECONDS
    kind = _told(spec, canonical, deadline)
    if kind is AccountKind.CONTRACT_WALLET:
        return Inspected(canonical, _CONTRACT.format(title=spec.title))
    return Inspected(canonical, _warning_of_others(spec, canonical, deadline))


def _told(spec: ChainSpec, address: str, deadline: float) -> AccountKind:
    """Return the kind of a wallet. Raises InvalidRequestError for any other, UnavailableError."""
    if not spec.rpc_urls:
        raise UnavailableError(_NO_NODE.format(spec.title))
    try:
        kind = _ask(spec, address, deadline)
    except ChainError as error:
        raise UnavailableError(_SILENT.format(spec.title)) from error
    if not kind.is_wallet:
        raise _refusal(kind, _REFUSED[kind])
    return kind


def _warning_of_others(spec: ChainSpec, address: str, deadline: float) -> str | None:
    """Return the warning about an address that other chains of its family know as a contract, as far as they answer."""
    for other in chains().values():
        if other.family is not spec.family or other.name == spec.name:
            continue
        try:
            known = other.rpc_urls and _ask(other, address, deadline)
        except ChainError:
            continue
        kind = known or AccountKind.WALLET
        if not kind.is_wallet:
            raise _refusal(kind, f"on {other.title} {_REFUSED[kind]}")
        if kind is AccountKind.CONTRACT_WALLET:
            return _ELSEWHERE.format(other=other.title, title=spec.title)
    return None


def _ask(spec: ChainSpec, address: str, deadline: float) -> AccountKind:
    with closing(open_pool(spec)) as pool:
        pool.stop_at(deadline)
        told = pool.run(lambda node: spec.family.ask_kind(node, address))
        others = pool.survey(lambda node: spec.family.ask_kind(node, address))
    return most_dangerous([told, *others])


def _refusal(kind: AccountKind, words: str) -> InvalidRequestError:
    error = DoubtfulError if kind in _DOUBTFUL else InvalidRequestError
    return error(f"The address {words}", param="address", code="address_invalid")
