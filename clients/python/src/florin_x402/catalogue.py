"""The facilitator's payment options, cached and refreshed after some minutes."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from florin_x402.config import Config
from florin_x402.errors import FacilitatorError
from florin_x402.facilitator import Facilitator
from florin_x402.prices import DECIMALS, Price

STALE_AFTER: Final = 3_600.0
"""How many seconds a stale answer may be used. A merchant's replaced address is accepted for longer."""

USD: Final = "USD"

_AFTER_A_FAILURE: Final = 2.0

# Source: PyPI x402 2.25. Version 1 has no name for other chains.
_FIRST_NAMES: Final = MappingProxyType(
    {"base": 8453, "base-sepolia": 84532, "polygon": 137, "polygon-amoy": 80002, "ethereum": 1}
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A chain's name in the public standard's `version`, and the token's `extra` for payers."""

    version: int
    network: str
    extra: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Option:
    """A chain and token to pay with. `asset` is the contract, empty where only the specification's protocol pays.

    `currency` is what a token is one of: a price that names no token is in USD. `chain_id` is an EVM chain's, where `asset` is known.
    `needs_signature` says that a proof by hash has to be signed by its payer.
    """

    chain: str
    token: str
    pay_to: str
    asset: str = ""
    kinds: tuple[Kind, ...] = ()
    currency: str = USD
    chain_id: int | None = None
    needs_signature: bool = False

    def kind(self, version: int) -> Kind | None:
        """Return how a version of the standard pays with this; None if it cannot."""
        return next((kind for kind in self.kinds if kind.version == version), None)


class Catalogue:
    """The facilitator's offers. Thread-safe: one thread refreshes, the others use the cached answer."""

    def __init__(self, config: Config, facilitator: Facilitator) -> None:
        self._config = config
        self._facilitator = facilitator
        self._lock = threading.Lock()
        self._options: tuple[Option, ...] = ()
        self._fetched_at: float | None = None
        self._failed_at: float | None = None

    def options_for(self, price: Price) -> list[Option]:
        """Return the options to pay a price, preferred first. Raises FacilitatorError if there are none."""
        options = [one for one in self._known() if _is_meant(one, price)]
        if price.networks:
            options = [one for network in price.networks for one in options if one.chain == network]
        if not options:
            raise FacilitatorError("The merchant is paid nowhere as this price asks.")
        return options

    def _known(self) -> tuple[Option, ...]:
        if not self._is_older(self._config.refresh):
            return self._options
        # Without a cached answer, threads wait for the one that asks.
        must_wait = self._is_older(STALE_AFTER)
        if self._lock.acquire(blocking=must_wait):
            try:
                self._refresh()
            finally:
                self._lock.release()
        return self._options

    def _refresh(self) -> None:
        """Refresh, unless another thread just did. Raises FacilitatorError if nothing is cached."""
        if not self._is_older(self._config.refresh):
            return
        now = time.monotonic()
        if self._failed_at is not None and now - self._failed_at < _AFTER_A_FAILURE:
            self._excuse(FacilitatorError("The facilitator could not be asked."))
            return
        try:
            self._options = tuple(self._fetch())
        except FacilitatorError as error:
            self._failed_at = time.monotonic()
            self._excuse(error)
        else:
            self._fetched_at = time.monotonic()

    def _excuse(self, error: FacilitatorError) -> None:
        if self._is_older(STALE_AFTER):
            raise error

    def _is_older(self, seconds: float) -> bool:
        return self._fetched_at is None or time.monotonic() - self._fetched_at > seconds

    def _fetch(self) -> Iterator[Option]:
        told = self._facilitator.config()
        kinds = self._facilitator.kinds()
        # MPP names a token by its contract in proofs by hash, too.
        chains = self._facilitator.chains() if kinds or self._config.mpp_secrets else {}
        needs_signature = told.get("requiresSignature") is True
        for option in self._listed(told, kinds, chains):
            yield replace(option, needs_signature=needs_signature)

    def _listed(
        self, told: Mapping[str, Any], kinds: Sequence[Mapping[str, Any]], chains: Mapping[str, Mapping[str, Any]]
    ) -> Iterator[Option]:
        for chain in _texts(told.get("networks")):
            pay_to = _object(told.get("payTo")).get(chain)
            if not isinstance(pay_to, str) or not pay_to:
                raise FacilitatorError("The facilitator's config names no payTo.")
            for token in _texts(_object(told.get("assets")).get(chain)):
                yield self._option(chain, token, pay_to, chains.get(chain), kinds)
            # Absent at a facilitator that takes no tokens of other currencies.
            for other in _objects(_object(told.get("otherAssets", {})).get(chain, [])):
                yield self._other(chain, other, pay_to, chains.get(chain), kinds)

    def _option(
        self, chain: str, token: str, pay_to: str, facts: Mapping[str, Any] | None, kinds: Sequence[Mapping[str, Any]]
    ) -> Option:
        plain = Option(chain, token, pay_to)
        contract = _object((facts or {}).get("tokenContracts", {})).get(token)
        if facts is None or contract is None:
            return plain
        asset = _object(contract).get("address")
        if not isinstance(asset, str) or _object(contract).get("decimals") != DECIMALS:
            return plain
        domain = self._config.domain_of(asset)
        found = (_kind(one, chain, facts.get("chainId"), domain) for one in kinds)
        signed = tuple(kind for kind in found if kind)
        return replace(plain, asset=asset, kinds=signed, chain_id=_chain_id(facts))

    def _other(
        self,
        chain: str,
        told: Mapping[str, Any],
        pay_to: str,
        facts: Mapping[str, Any] | None,
        kinds: Sequence[Mapping[str, Any]],
    ) -> Option:
        """Parse a token of another currency than USD, which the facilitator describes itself."""
        token, currency, asset = (told.get(name) for name in ("token", "currency", "address"))
        if not (isinstance(token, str) and isinstance(currency, str) and token and currency not in {"", USD}):
            raise FacilitatorError("The facilitator's answer has another form.")
        plain = Option(chain, token, pay_to, currency=currency)
        if facts is None or not isinstance(asset, str) or told.get("decimals") != DECIMALS:
            return plain
        own = _object(told.get("extra", {}))
        domain = (str(own["name"]), str(own["version"])) if {"name", "version"} <= own.keys() else None
        domain = self._config.domain_of(asset) or domain
        found = (_kind(one, chain, facts.get("chainId"), domain) for one in kinds)
        signed = tuple(kind for kind in found if kind)
        return replace(plain, asset=asset, kinds=signed, chain_id=_chain_id(facts))


def _is_meant(option: Option, price: Price) -> bool:
    """Whether a price can be paid so: its amount is of the token that it names, else of dollars."""
    return option.token == price.token if price.token else option.currency == USD


def _kind(told: Mapping[str, Any], chain: str, chain_id: object, domain: tuple[str, str] | None) -> Kind | None:
    """Parse one payment kind of a token that signs under `domain`.

    None if it is on another chain or lacks data that a payer needs.
    """
    version, network = told.get("x402Version"), told.get("network")
    if told.get("scheme") != "exact" or not isinstance(network, str):
        return None
    if version not in {1, 2} or not _is_on(network, chain, chain_id):
        return None
    extra = dict(_object(told.get("extra") or {}))
    if network.startswith("solana"):
        return Kind(int(version), network, extra) if "feePayer" in extra else None
    if domain is None and not {"name", "version"} <= extra.keys():
        return _by_permit2(int(version), network, extra)
    names = dict(zip(("name", "version"), domain or (), strict=False))
    return Kind(int(version), network, names | extra)


def _by_permit2(version: int, network: str, extra: Mapping[str, Any]) -> Kind | None:
    """Parse the payment kind of a token without EIP-3009, such as USDT: Permit2, which version 1 lacks."""
    if version == 1:
        return None
    return Kind(version, network, {"assetTransferMethod": "permit2"} | dict(extra))


def _is_on(network: str, chain: str, chain_id: object) -> bool:
    if chain == "solana":
        return network.partition(":")[0] in {"solana", "solana-devnet"}
    if chain_id is None:
        return False
    return network == f"eip155:{chain_id}" or _FIRST_NAMES.get(network) == chain_id


def _chain_id(facts: Mapping[str, Any]) -> int | None:
    found = facts.get("chainId")
    return found if type(found) is int else None


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FacilitatorError("The facilitator's answer has another form.")
    return value


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise FacilitatorError("The facilitator's answer has another form.")
    return value


def _objects(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        raise FacilitatorError("The facilitator's answer has another form.")
    return [_object(one) for one in value]
