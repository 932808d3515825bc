"""The facilitator's payment options, cached and refreshed after some minutes."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from florin_x402.config import Config
from florin_x402.errors import FacilitatorError
from florin_x402.facilitator import Facilitator
from florin_x402.prices import Price

STALE_AFTER: Final = 3_600.0
"""How many seconds a stale answer may be used. A merchant's replaced address is accepted for longer."""

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
    """A chain and token to pay with. `asset` is the contract, empty where only the specification's protocol pays."""

    chain: str
    token: str
    pay_to: str
    asset: str = ""
    kinds: tuple[Kind, ...] = ()

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
        options = [one for one in self._known() if price.token in {"", one.token}]
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
        chains = self._facilitator.chains() if kinds else {}
        for chain in _texts(told.get("networks")):
            pay_to = _object(told.get("payTo")).get(chain)
            if not isinstance(pay_to, str) or not pay_to:
                raise FacilitatorError("The facilitator's config names no payTo.")
            for token in _texts(_object(told.get("assets")).get(chain)):
                yield self._option(chain, token, pay_to, chains.get(chain), kinds)

    def _option(
        self, chain: str, token: str, pay_to: str, facts: Mapping[str, Any] | None, kinds: Sequence[Mapping[str, Any]]
    ) -> Option:
        plain = Option(chain, token, pay_to)
        contract = _object((facts or {}).get("tokenContracts", {})).get(token)
        if facts is None or contract is None:
            return plain
        asset = _object(contract).get("address")
        if not isinstance(asset, str) or _object(contract).get("decimals") != 6:
            return plain
        found = (self._kind(one, chain, facts.get("chainId"), asset) for one in kinds)
        return Option(chain, token, pay_to, asset, tuple(kind for kind in found if kind))

    def _kind(self, told: Mapping[str, Any], chain: str, chain_id: object, asset: str) -> Kind | None:
        """Parse one payment kind; None if it is on another chain or lacks data that a payer needs."""
        version, network = told.get("x402Version"), told.get("network")
        if told.get("scheme") != "exact" or not isinstance(network, str):
            return None
        if version not in {1, 2} or not _is_on(network, chain, chain_id):
            return None
        extra = dict(_object(told.get("extra") or {}))
        domain = self._config.domain_of(asset)
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


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise FacilitatorError("The facilitator's answer has another form.")
    return value


def _texts(value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise FacilitatorError("The facilitator's answer has another form.")
    return value
