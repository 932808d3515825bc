"""The protocol of a family of chains: all differences between kinds of chains are defined here."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from wallets.chains.base import AccountAdapter, AccountTimes, BlockAdapter, HoldingsReader

if TYPE_CHECKING:
    from wallets.chains.accounts import AccountKind
    from wallets.chains.payments import Cashier, PaymentRequest, WalletLink
    from wallets.chains.rpc.client import Call, Node
    from wallets.chains.rpc.pool import RpcPool
    from wallets.chains.specs import ChainSpec


class ChainFamily(Protocol):
    """A kind of chain: its addresses, nodes, payment links and signatures.

    Code outside `wallets.chains` never asks for a family's name; it calls the family's methods (`ChainSpec.family`).
    """

    name: str
    """Its name on pages and in the demo's files."""

    nobody: str
    """An address without an owner, in canonical form."""

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

    signs_typed_data: bool = False
    """Whether its wallets sign typed data (EIP-712) as well."""

    carries_memo: bool = False
    """Whether a payer adds the checkout's memo to a transfer."""

    carries_reference: bool = False
    """Whether links add the checkout's reference to a transfer."""

    qr_is_address: bool = False
    """Whether a QR code holds the plain address, because wallets misread links."""

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

    def wallet_links(self, request: "PaymentRequest", *, page_url: str) -> "list[WalletLink]":
        """Return the documented links into wallet apps."""
        ...

    def wallets_chain_id(self, spec: "ChainSpec") -> str | None:
        """Return the chain's id in browser wallets; None if a page cannot ask them to pay."""
        return None

    def open_cashier(self, spec: "ChainSpec", pool: "RpcPool") -> "Cashier":
        """Return the cashier that prepares payments to sign, where `prepares_payments`."""
        message = f"{self.name} has wallets that write payments by themselves"
        raise NotImplementedError(message)

    def prepares_payments(self, spec: "ChainSpec") -> bool:
        """Whether Florin can write the chain's payments for a wallet to sign."""
        return False

    def can_sign(self, address: str) -> bool:
        """Whether a canonical address can have a key that signs."""
        return True
