"""What every family of chains must answer: the one place to ask how a chain differs from others."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from wallets.chains.base import (
    AccountAdapter,
    AccountTimes,
    BlockAdapter,
    HoldingsReader,
)

if TYPE_CHECKING:
    from wallets.chains.payments import Cashier, PaymentRequest, WalletLink
    from wallets.chains.rpc.client import Node
    from wallets.chains.rpc.pool import RpcPool
    from wallets.chains.specs import ChainSpec


class ChainFamily(Protocol):
    """What a kind of chain has in common: how addresses look, how its nodes are asked, how its wallets pay and sign.

    Nobody outside of `wallets.chains` asks which family a chain is of; they ask the family itself (`ChainSpec.family`).
    """

    name: str
    """What pages and the demo's files call it."""

    nobody: str
    """An address known to be nobody's, in canonical form."""

    proof_hint: str
    """How a wallet signs a message, for people."""

    own_settings: tuple[str, ...] = ()
    """Settings that only its chains have, without the chain's name."""

    has_forwarders: bool = False
    """Whether checkouts get deposit addresses, which are contracts of ours and the same on all its chains."""

    keys_name_contracts: bool = False
    """Whether keys of addresses are of the kind that contracts of ours have, so that one may be mistaken for them."""

    reads_accounts: bool = False
    """Whether its chains can only be asked account by account."""

    proof_needs_key: bool = False
    """Whether an address does not tell the key that a signature is checked with."""

    has_contract_wallets: bool = False
    """Whether an address may be a contract that says itself what it signed."""

    signs_typed_data: bool = False
    """Whether its wallets sign typed data (EIP-712) as well."""

    carries_memo: bool = False
    """Whether a payer is asked to write the checkout's memo beside a transfer."""

    carries_reference: bool = False
    """Whether links put the checkout's reference beside a transfer."""

    qr_is_address: bool = False
    """Whether a QR code holds the plain address, for wallets read links wrongly or not at all."""

    wallets_add_chains: bool = False
    """Whether a page can make a wallet know a developer's own chain."""

    def canonical_address(self, text: str, *, is_testnet: bool = False) -> str:
        """Return the address in the one form in which it is stored and compared. Raises AddressError."""
        ...

    def address_key(self, text: str) -> bytes:
        """Return an address as the bytes that recipients are joined by, the same for every spelling. Raises AddressError."""
        ...

    def shown_address(self, text: str) -> str | None:
        """Return how people's wallets show an address of this family; None where that is as it is stored."""
        return None

    def refuse_trap(self, address: str) -> None:
        """Raise AddressError where a canonical address is sound and would still swallow a merchant's money."""
        ...

    def transaction_hash(self, text: str) -> str | None:
        """Return how its chains write the hash that somebody pasted; None where it cannot be one of theirs."""
        ...

    def is_signed_by(
        self,
        address: str,
        message: bytes,
        signature: str,
        *,
        public_key: str = "",
        digests: Sequence[bytes] = (),
    ) -> bool:
        """Whether the key of a canonical address signed `message`, or one of the `digests` of typed data.

        `signature` is hostile text; `public_key` is 32 bytes in hexadecimal where `proof_needs_key`.
        """
        ...

    def is_vouched_for(
        self, pool: "RpcPool", address: str, message: bytes, signature: str
    ) -> bool:
        """Whether the contract at an address says that it signed `message`, where `has_contract_wallets`. Raises ChainError."""
        return False

    def open_node(self, url: str, *, api_key: str) -> "Node":
        """Return a node by its address, with the key that its provider reads, or none. Nothing is asked yet."""
        ...

    def identify(self, spec: "ChainSpec") -> "Callable[[Node], None] | None":
        """Return what makes sure that a node is of this chain; None where any will do."""
        ...

    def open_adapter(
        self, spec: "ChainSpec", pool: "RpcPool"
    ) -> BlockAdapter | AccountAdapter:
        """Return a reader of the chain."""
        ...

    def open_holdings(self, spec: "ChainSpec", pool: "RpcPool") -> HoldingsReader:
        """Return what asks for the balances of accounts on the chain."""
        ...

    def open_times(self, spec: "ChainSpec", pool: "RpcPool") -> AccountTimes:
        """Return what finds blocks by time, where `reads_accounts`."""
        message = f"{self.name} is read by blocks"
        raise NotImplementedError(message)

    def ask_newest(self, pool: "RpcPool") -> object:
        """Ask for what is another one with each new block, by one request. Raises ChainError."""
        ...

    def payment_uri(self, request: "PaymentRequest") -> str | None:
        """Return the link that asks any wallet for a payment; None where there is no standard."""
        ...

    def wallet_links(
        self, request: "PaymentRequest", *, page_url: str
    ) -> "list[WalletLink]":
        """Return the documented links into wallet apps."""
        ...

    def wallets_chain_id(self, spec: "ChainSpec") -> str | None:
        """Return what wallets in a browser call a chain; None where a page cannot ask them to pay."""
        return None

    def open_cashier(self, spec: "ChainSpec", pool: "RpcPool") -> "Cashier":
        """Return what writes payments for a wallet to sign, where `prepares_payments`."""
        message = f"{self.name} has wallets that write payments by themselves"
        raise NotImplementedError(message)

    def prepares_payments(self, spec: "ChainSpec") -> bool:
        """Whether Florin can write the chain's payments for a wallet to sign."""
        return False

    def can_sign(self, address: str) -> bool:
        """Whether a canonical address can have a key that signs."""
        return True
