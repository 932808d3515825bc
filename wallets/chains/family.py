"""A family of chains: its protocol, and the types of its chains, accounts and payments.

All differences between kinds of chains are defined here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

from wallets.chains.base import AccountAdapter, AccountTimes, BlockAdapter, HoldingsReader

if TYPE_CHECKING:
    from wallets.chains.rpc.client import Call, Node
    from wallets.chains.rpc.pool import RpcPool

TOKEN_DECIMALS: Final = 6
_GWEI: Final = 10**9
_WEI: Final = 10**18


class ChainFamily(Protocol):
    """A kind of chain: its addresses, nodes, payment links and signatures.

    Code outside `wallets.chains` never asks for a family's name; it calls the family's methods (`ChainSpec.family`).
    """

    name: str
    """Its name on pages and in the demo's files."""

    nobody: str
    """An address without an owner, in canonical form."""

    asset_namespace: str
    """The kind of its tokens in CAIP-19."""

    proof_hint: str
    """How a wallet signs a message, for people."""

    own_settings: tuple[str, ...] = ()
    """Settings that only its chains have, without the chain's name."""

    head_subscription: "Call | None" = None
    """The JSON-RPC call by which a node's WebSocket pushes new blocks; None if blocks are not read as they come."""

    has_forwarders: bool = False
    """Whether checkouts get deposit addresses: forwarder contracts, the same on all its chains."""

    keys_name_contracts: bool = False
    """Whether its address keys have the form of our contracts' keys, so that they could be confused."""

    reads_accounts: bool = False
    """Whether its chains can only be read account by account."""

    proof_needs_key: bool = False
    """Whether a signature check needs the public key besides the address."""

    has_contract_wallets: bool = False
    """Whether an address may be a contract that verifies its own signatures."""

    signs_transfers: bool = False
    """Whether tokens on its chains may take transfers that their holder signs and anybody sends (EIP-3009)."""

    takes_fee_payer: bool = False
    """Whether another account than the payer's can pay a transaction's fee, by signing it too."""

    signs_typed_data: bool = False
    """Whether its wallets sign typed data (EIP-712) as well."""

    carries_memo: bool = False
    """Whether a payer adds the checkout's memo to a transfer."""

    carries_reference: bool = False
    """Whether links add the checkout's reference to a transfer."""

    qr_is_address: bool = False
    """Whether a QR code holds the plain address, because wallets misread links."""

    most_payments: int = 1
    """How many prepared payments a wallet may be asked for in one request. A wallet may take fewer."""

    relays_wallets: bool = False
    """Whether a page can reach wallet apps through a bridge of TON Connect."""

    wallets_add_chains: bool = False
    """Whether a page can add a developer's own chain to a wallet."""

    def canonical_address(self, text: str, *, is_testnet: bool = False) -> str:
        """Return the address in the one form in which it is stored and compared. Raises AddressError."""
        ...

    def address_key(self, text: str) -> bytes:
        """Return an address as the bytes that recipients are joined by, the same for every spelling. Raises AddressError."""
        ...

    def shown_address(self, text: str) -> str | None:
        """Return an address of this family as wallets show it; None if that is the stored form."""
        return None

    def refuse_trap(self, address: str) -> None:
        """Raise AddressError for a valid canonical address where a merchant's money is lost, whatever a node says."""
        ...

    def ask_kind(self, node: "Node", address: str) -> "AccountKind":
        """Return what one node says is at a canonical address. Raises ChainError; a node that says nothing usable fails."""
        ...

    def ask_owner(self, node: "Node", address: str) -> str | None:
        """Return the wallet that a token account belongs to, where its program alone writes that; else None. Raises ChainError."""
        return None

    def transaction_hash(self, text: str) -> str | None:
        """Return a pasted hash as its chains write it; None if it cannot be one of theirs."""
        ...

    def is_signed_by(
        self, address: str, message: bytes, signature: str, *, public_key: str = "", digests: Sequence[bytes] = ()
    ) -> bool:
        """Whether the key of a canonical address signed `message`, or one of the `digests` of typed data.

        `signature` is hostile text; `public_key` is 32 bytes in hexadecimal where `proof_needs_key`.
        """
        ...

    def is_vouched_for(self, pool: "RpcPool", address: str, message: bytes, signature: str) -> bool:
        """Whether the contract at an address confirms the signature of `message`, where `has_contract_wallets`.

        Raises ChainError.
        """
        return False

    def token_names(self, pool: "RpcPool", token: str) -> list[str]:
        """Return the names that a token gives itself, as far as they can be read. Raises ChainError."""
        ...

    def open_node(self, url: str, *, api_key: str) -> "Node":
        """Return a node for a URL, with its provider's key, if any. It is not asked yet."""
        ...

    def identify(self, spec: "ChainSpec") -> "Callable[[Node], None] | None":
        """Return the check that a node is of this chain; None if any chain is accepted."""
        ...

    def open_adapter(self, spec: "ChainSpec", pool: "RpcPool") -> BlockAdapter | AccountAdapter:
        """Return a reader of the chain."""
        ...

    def open_holdings(self, spec: "ChainSpec", pool: "RpcPool") -> HoldingsReader:
        """Return a reader of accounts' balances on the chain."""
        ...

    def open_times(self, spec: "ChainSpec", pool: "RpcPool") -> AccountTimes:
        """Return the finder of blocks by time, where `reads_accounts`."""
        message = f"{self.name} is read by blocks"
        raise NotImplementedError(message)

    def ask_newest(self, pool: "RpcPool") -> object:
        """Ask for a value that changes with each block, in one request. Raises ChainError."""
        ...

    def payment_uri(self, request: "PaymentRequest") -> str | None:
        """Return the link that asks any wallet for a payment; None if there is no standard."""
        ...

    def transfer_data(self, recipient: str, units: int) -> bytes | None:
        """Return the data of a call that moves units of the called token, as its contract counts them, to a canonical address.

        None where wallets take no calls.
        """
        return None

    def wallets_chain_id(self, spec: "ChainSpec") -> str | None:
        """Return the chain's id in browser wallets; None if a page cannot ask them to pay."""
        return None

    def accounts_chain_id(self, spec: "ChainSpec") -> str | None:
        """Return the chain's id in browser wallets that a page can ask for an address to receive at; None for none."""
        return self.wallets_chain_id(spec)

    def open_cashier(self, spec: "ChainSpec", pool: "RpcPool") -> "Cashier":
        """Return the cashier that prepares payments to sign, where `prepares_payments`."""
        message = f"{self.name} has wallets that write payments by themselves"
        raise NotImplementedError(message)

    def prepares_payments(self, spec: "ChainSpec") -> bool:
        """Whether Florin can write the chain's payments for a wallet to sign."""
        return False

    def joined(self, transactions: Sequence[Any]) -> Any:
        """Return prepared transactions of one payer, at most `most_payments`, as one request for a wallet."""
        [only] = transactions
        return only

    def can_sign(self, address: str) -> bool:
        """Whether a canonical address can have a key that signs."""
        return True


class Network(StrEnum):
    """Which of a chain's networks this installation uses."""

    MAINNET = "mainnet"
    TESTNET = "testnet"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """One network of a chain. `chain_id` is null where the chain has no number for itself.

    `x402_name` is its name in version 1 of the public x402 standard, and `is_x402_known` says whether that version's published
    clients know it. `caip2` is its name in version 2 if that is not `eip155:` and the number.
    """

    chain_id: int | None
    tokens: Mapping[str, str]
    explorer_tx: str
    explorer_address: str
    # Genuine tokens of other issuers, and bridged forms: watched and reported, never credited. An unlisted token is
    # unknown, not a fake.
    wrong_tokens: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    # Of tokens that have not six. An accepted one has six or more: what is less than a millionth of it is cut off.
    decimals: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    # Name and version under which tokens sign (EIP-712) that are taken, or may be, and take authorisations (EIP-3009).
    domains: Mapping[str, tuple[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    x402_name: str | None = None
    is_x402_known: bool = True
    caip2: str | None = None


@dataclass(frozen=True, slots=True)
class GasFacts:
    """Gas costs on a chain whose transactions we pay for, unless settings (`GAS_...`) override them.

    `most_gwei` is the most that one gas may cost; `daily_coins` the daily limit, and `low_coins` the balance
    below which operators are alerted, in the chain's own coin; `coin_usd` the assumed price of a coin.
    `most_gwei` and `coin_usd` are None where gas has no price in wei, as on Solana. `free_least_usd` is the lowest price for which
    a buyer's network fee is paid, if the operator pays it at all. `byte_gas` is what a byte of a transaction may cost besides its
    execution, where the chain counts its share of Ethereum's data as more gas: gas limits that are calculated leave room for it.
    """

    daily_coins: str
    low_coins: str
    most_gwei: str | None = None
    coin_usd: str | None = None
    free_least_usd: str = "2"
    byte_gas: int = 0


@dataclass(frozen=True, slots=True)
class BuyerFee:
    """What a wallet pays its network to send a token: `gas` at the price of the newest blocks, with `tip_gwei` for each.

    Where blocks name no price, it is `coins` of the chain's own coin. `coin_usd` is the assumed price of a coin, unless
    GAS_COIN_USD names another.
    """

    coin_usd: str
    gas: int = 0
    tip_gwei: str = "0"
    coins: str = "0"

    def usd(self, base_fee: int | None, *, coin_usd: str = "") -> Decimal | None:
        """Return the fee in USD, at a price of one gas in wei; None where it is not known."""
        coins = Decimal(self.coins)
        if self.gas:
            if base_fee is None:
                return None
            coins = self.gas * (base_fee + Decimal(self.tip_gwei) * _GWEI) / _WEI
        return coins * Decimal(coin_usd or self.coin_usd)


@dataclass(frozen=True, slots=True)
class ChainFacts:
    """One chain, on any network. `confirmations` counts the transfer's own block as the first."""

    name: str
    title: str
    family: ChainFamily
    symbols: tuple[str, ...]
    exact_amount_required: bool
    confirm_seconds: int
    block_seconds: float
    confirmations: int
    gas_tier: str
    priority: int
    mainnet: NetworkFacts
    testnet: NetworkFacts
    # Those of `wrong_tokens` that an operator may take, and the currency that each is one of: from machines, and for checkouts where
    # each has an address of its own.
    other_pegs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    badge: str | None = None
    # The rate that public nodes allow, or slightly less.
    requests_per_minute: int = 300
    # A block tag that must have passed the transfer too, where depth alone is not final.
    finality_tag: str | None = None
    # The depth at which a small x402 payment buys at once, its own block counted (the specification's times).
    x402_confirmations: int = 3
    # The name of its own coin on pages, and our spending limits for gas.
    coin: str = ""
    gas: GasFacts | None = None
    # What the page says that a payment costs its buyer; without it, only `gas_tier` does.
    buyer_fee: BuyerFee | None = None
    # Whether static/images/logos.svg has a view of its name.
    has_logo: bool = False
    # The wallet apps that pay on it (`wallets.chains.wallet_apps`), the likeliest first.
    apps: tuple[str, ...] = ()
    # Whether an installation that names no node of it lists it nowhere. The specification's chains are listed always.
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class TokenDomain:
    """How a token names itself in what is signed for it (EIP-712)."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class TokenSpec:
    """A token contract that is watched. An accepted one is one USD and can pay every checkout of its chain.

    `decimals` are those of the base units that are recorded: six of every accepted token, and the contract's own of others. An
    accepted token of which the contract counts in more has so many `cut_decimals`: they are cut off where an answer of a node is read,
    and written as zeros where a payment is. Such a token takes no authorisations: what is signed names the contract's units exactly.

    `domain` is what its issuer says it signs under; None where nothing is published, or it takes no authorisations. `other_peg` is
    the currency of a token that is not one USD and that machines may pay with; empty for all others. `is_offered` says that new
    checkouts offer it too.
    """

    symbol: str
    address: str
    decimals: int
    accepted: bool
    domain: TokenDomain | None = None
    other_peg: str = ""
    cut_decimals: int = 0
    is_offered: bool = False

    @property
    def contract_decimals(self) -> int:
        """The decimals that its contract counts in."""
        return self.decimals + self.cut_decimals

    def recorded_units(self, units: int) -> int:
        """Return the contract's units as they are recorded, rounded down: less than a millionth of a token is nothing."""
        return units // int(10**self.cut_decimals)

    def contract_units(self, units: int) -> int:
        """Return recorded units as the contract counts them."""
        return units * int(10**self.cut_decimals)

    @property
    def peg(self) -> str:
        """The currency that the token is taken as one of; empty if it is only recorded."""
        return "USD" if self.accepted else self.other_peg


@dataclass(frozen=True, slots=True)
class ChainSpec:
    """A chain on the network this installation uses.

    `tokens` are by symbol. `explorer_tx` has a {tx} to fill and `explorer_address` an {address}; None on local networks.
    """

    name: str
    title: str
    family: ChainFamily
    network: Network
    chain_id: int | None
    tokens: Mapping[str, TokenSpec]
    exact_amount_required: bool
    estimated_confirm_seconds: int
    block_seconds: float
    confirmations: int
    finality_tag: str | None
    gas_tier: str
    priority: int
    badge: str | None
    explorer_tx: str | None
    rpc_urls: tuple[str, ...]
    start_block: int | None
    poll_seconds: float | None
    # The key for each of `rpc_urls`; empty if it needs none.
    api_keys: tuple[str, ...] = ()
    requests_per_minute: int = 300
    # Base units from which a transfer needs the chain's own finality and a second node; None: never.
    large_units: int | None = None
    # Only Tron: a second kind of source, which confirms the first one's answers.
    grid_urls: tuple[str, ...] = ()
    # The WebSocket of a node that pushes notices, where the family has this setting.
    ws_url: str | None = None
    explorer_address: str | None = None
    # From ChainFacts and NetworkFacts.
    x402_confirmations: int = 3
    x402_name: str | None = None
    caip2: str | None = None
    coin: str = ""
    gas: GasFacts | None = None
    buyer_fee: BuyerFee | None = None
    apps: tuple[str, ...] = ()

    @property
    def accepted_tokens(self) -> tuple[TokenSpec, ...]:
        """The tokens that are one USD each and can pay every checkout."""
        return tuple(token for token in self.tokens.values() if token.accepted)

    @property
    def machine_tokens(self) -> tuple[TokenSpec, ...]:
        """The tokens that machines can pay with: the accepted ones, and those of other currencies that the operator takes."""
        return tuple(token for token in self.tokens.values() if token.peg)

    @property
    def checkout_tokens(self) -> tuple[TokenSpec, ...]:
        """The tokens that new checkouts offer: the accepted ones, and those of other currencies that the operator names for them."""
        return tuple(token for token in self.tokens.values() if token.accepted or token.is_offered)

    @property
    def finer_tokens(self) -> list[str]:
        """The symbols of recorded tokens whose base units no limit of accepted ones applies to."""
        return [t.symbol for t in self.tokens.values() if t.decimals != TOKEN_DECIMALS]

    @property
    def is_local(self) -> bool:
        """Whether the chain is a developer's own, which may be reset at any time."""
        return self.network is Network.LOCAL

    @property
    def network_id(self) -> str:
        """Return its name among all networks (CAIP-2), such as `eip155:8453`."""
        return self.caip2 or self.name

    def asset_id(self, token_address: str) -> str:
        """Return a token's name among the tokens of all networks (CAIP-19), such as `eip155:8453/erc20:0x8335…`."""
        return f"{self.network_id}/{self.family.asset_namespace}:{token_address}"

    def transaction_url(self, tx_hash: str) -> str | None:
        """Return a transaction's explorer address; None on local networks."""
        if self.explorer_tx is None:
            return None
        return self.explorer_tx.format(tx=quote(tx_hash, safe=""))

    def address_url(self, address: str) -> str | None:
        """Return an address's page in the explorer; None on local networks."""
        if self.explorer_address is None:
            return None
        return self.explorer_address.format(address=quote(address, safe=""))


class AccountKind(StrEnum):
    """What an address is on its chain (`ChainFamily.ask_kind`), from the safest to the most dangerous to receive at."""

    WALLET = "wallet"
    """Somebody's key moves its money, or nothing is there yet."""

    CONTRACT_WALLET = "contract_wallet"
    """A contract or program moves its money for its owners: a Safe, a smart account, a vault, a multisig."""

    EMPTY = "empty"
    """No key can have this address, and nothing is there yet."""

    FROZEN = "frozen"
    """Its network froze it."""

    CONTRACT = "contract"
    """A contract that does not answer as a wallet does: a router, an exchange, a factory."""

    PROGRAM = "program"
    """A program, or data that a program keeps."""

    NFT = "nft"
    """A collection or an item of it."""

    VAULT = "vault"
    """A contract that keeps others' tokens for shares (ERC-4626)."""

    TOKEN_ACCOUNT = "token_account"  # noqa: S105
    """The account in which a token keeps somebody's balance: a token account, a jetton wallet."""

    TOKEN = "token"  # noqa: S105
    """A token's own contract, mint or minter."""

    @property
    def is_wallet(self) -> bool:
        """Whether people can move what it receives."""
        return self in {AccountKind.WALLET, AccountKind.CONTRACT_WALLET}


_ORDER = list(AccountKind)


def most_dangerous(kinds: Iterable[AccountKind]) -> AccountKind:
    """Return the worst of what several nodes say about one address."""
    return max(kinds, key=_ORDER.index)


class NotEnoughError(Exception):
    """The payer's balance is too low. Nothing was sent."""


class TransactionRefusedError(Exception):
    """The network permanently refuses the signed transaction. Nothing was sent."""


class SignedOtherwiseError(TransactionRefusedError):
    """The payer's wallet signed something other than the prepared payment. Nothing was sent."""


@dataclass(frozen=True, slots=True)
class PaymentOrder:
    """Pay `units` base units of a token, from a payer to a recipient; both in the chain's canonical form.

    `reference` are the 32 bytes by which Solana Pay names a payment, `memo` the text that names it on TON: at most 100 bytes.
    """

    payer: str
    recipient: str
    token: TokenSpec
    units: int
    reference: bytes = b""
    memo: str = ""


@dataclass(frozen=True, slots=True)
class PreparedPayment:
    """A payment for a wallet to sign, in the form that the chain's wallets accept.

    `raw` are the bytes that we send with the signature; empty if the wallet sends the transaction itself, which it may change.
    `tx_hash` is known where the bytes are final. From `valid_until` on no block takes it, or what it set off; where a block's number
    decides, that is an estimate, and `last_height` is the last number that may have it.
    """

    transaction: Any
    raw: bytes = b""
    tx_hash: str = ""
    valid_until: datetime | None = None
    last_height: int | None = None


class Cashier(Protocol):
    """Prepares payments for wallets to sign. Not thread-safe."""

    def prepare_payments(
        self, orders: Sequence[PaymentOrder], *, now: datetime, until: datetime
    ) -> list[PreparedPayment]:
        """Return payments for the first orders, as many as the payer's balance covers; all end at one moment.

        None can be begun past `until`.

        The orders have one payer and token, and are at most the family's `most_payments`. Raises ChainError, and NotEnoughError if
        the balance does not cover the first.
        """
        ...

    def send(self, raw: bytes, signature: bytes) -> None:
        """Send a signed payment; sending it again does no harm. Raises ChainError, TransactionRefusedError."""
        ...

    def passed(self, last_height: int) -> datetime | None:
        """Return the time of a final block above a `last_height`; None while there is none. Raises ChainError."""
        ...


@dataclass(frozen=True, slots=True)
class PaymentRequest:
    """What to pay: `units` base units of `token` (a symbol) to `address`.

    `reference` (32 bytes) and `memo` identify the checkout on exact-amount chains and are empty elsewhere; `label` is the
    payee and `message` the purpose. `until` is the end of a link that can have one: wallets do not begin the payment after it. None
    for a link that lasts.
    """

    spec: ChainSpec
    token: str
    address: str
    units: int
    reference: bytes = b""
    memo: str = ""
    label: str = ""
    message: str = ""
    until: datetime | None = None

    @property
    def token_address(self) -> str:
        """Return the token's contract. Raises KeyError if the settings no longer name the token."""
        return self.spec.tokens[self.token].address

    @property
    def contract_units(self) -> int:
        """Return the units as the token's contract counts them. Raises KeyError if the settings no longer name the token."""
        return self.spec.tokens[self.token].contract_units(self.units)
