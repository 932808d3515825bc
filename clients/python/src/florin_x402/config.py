"""Configuration of a paywall."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, get_args
from urllib.parse import urlsplit

from florin_x402.claims import ClaimStore, MemoryClaims
from florin_x402.errors import SettingsError
from florin_x402.hosts import is_host
from florin_x402.kept import AnswerStore, MemoryAnswers, Mode
from florin_x402.prices import PriceLike, PriceList, Rule
from florin_x402.transport import is_loopback

# Each token contract has its own EIP-712 name and version. Source: PyPI x402 2.25, its list of assets; for Ethereum Sepolia and
# OP Mainnet what Florin knows of the chains.
KNOWN_DOMAINS: Final[Mapping[str, tuple[str, str]]] = {
    "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48": ("USD Coin", "2"),  # Ethereum
    "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913": ("USD Coin", "2"),  # Base
    "0x3c499c542cef5e3811e1192ce70d8cc03d5c3359": ("USD Coin", "2"),  # Polygon
    "0xaf88d065e77c8cc2239327c5edb3a432268e5831": ("USD Coin", "2"),  # Arbitrum One
    "0x0b2c639c533813f4aa9d7837caf62653d097ff85": ("USD Coin", "2"),  # OP Mainnet
    "0x1c7d4b196cb0c7b01d743fbc6116a902379c7238": ("USDC", "2"),  # Ethereum Sepolia
    "0x75faf114eafb1bdbe2f0316df893fd58ce46aa4d": ("USD Coin", "2"),  # Arbitrum Sepolia
    "0x036cbd53842c5426634e7929541ec2318f3dcf7e": ("USDC", "2"),  # Base Sepolia
    "0x41e94eb019c0762f9bfcf9fb1e58725bfb0e7582": ("USDC", "2"),  # Polygon Amoy
}

_SHORTEST_SECRET: Final = 32


@dataclass(frozen=True, slots=True)
class Config:
    """A paywall: the facilitator's `url`, ending in /api/v1/x402, the merchant's `key` there, and `prices` by path.

    `seconds` is how long one exchange with the facilitator may take, `refresh` after how many seconds it is asked again where
    to pay. `base_url` is put before paths in what payers are told; empty takes the request's own host. `claims` remembers what
    was used: give one that all processes share. `identifiers` says whether payers may or must send a payment identifier: "off",
    "optional" or "required"; `answers` keeps what they were served, for an hour: one that all processes share, too. With
    `receipts` the facilitator signs offers and receipts, of the resource's address below `base_url`. `domains` adds the EIP-712
    name and version of a token's contract (in lower case). With `mpp_secrets`, clients of MPP pay, too: the first one of at least
    32 characters signs what a 402 asks, and those after it still count. All processes have the same, and MPP needs `base_url`. Plain http is for this machine alone unless `allow_http`. Raises
    SettingsError.
    """

    url: str
    key: str = field(repr=False)
    prices: Mapping[str, PriceLike | Rule]
    base_url: str = ""
    seconds: float = 15.0
    refresh: float = 300.0
    allow_http: bool = False
    domains: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    claims: ClaimStore = field(default_factory=MemoryClaims)
    receipts: bool = False
    identifiers: Mode = "optional"
    answers: AnswerStore = field(default_factory=MemoryAnswers)
    mpp_secrets: Sequence[str] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        _check_url(self.url, allow_http=self.allow_http)
        if not self.key or not self.key.isascii() or not self.key.isprintable():
            raise SettingsError("key is the merchant's API key.")
        if self.receipts and not self.base_url:
            # A request's own host is what its sender writes.
            raise SettingsError("receipts needs base_url, the address that is signed.")
        if self.identifiers not in get_args(Mode):
            raise SettingsError('identifiers is "off", "optional" or "required".')
        if self.mpp_secrets:
            self._check_mpp()
        PriceList(self.prices)

    def domain_of(self, contract: str) -> tuple[str, str] | None:
        """Return the EIP-712 name and version of a token's contract; None if unknown."""
        low = contract.lower()
        return self.domains.get(low) or KNOWN_DOMAINS.get(low)

    def _check_mpp(self) -> None:
        # One text would be a sequence of letters.
        if isinstance(self.mpp_secrets, str) or not all(map(_is_secret, self.mpp_secrets)):
            raise SettingsError("mpp_secrets is a list of texts of at least 32 characters.")
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or not is_host(parts.netloc):
            raise SettingsError("mpp_secrets needs base_url: payers sign for its host.")
        if parts.scheme == "http" and not self.allow_http and not is_loopback(parts.hostname):
            raise SettingsError("base_url is plain http: what pays by MPP would travel in the open.")


def _is_secret(told: object) -> bool:
    return isinstance(told, str) and len(told) >= _SHORTEST_SECRET


def _check_url(url: str, *, allow_http: bool) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError("url is the facilitator's address, ending in /api/v1/x402.")
    if parts.username or parts.query or parts.fragment:
        raise SettingsError("url has nothing but a host and a path.")
    if parts.scheme == "http" and not allow_http and not is_loopback(parts.hostname):
        raise SettingsError("url is plain http: the key would travel in the open.")
