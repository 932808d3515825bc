"""The Solana family: accounts are keys, with token accounts beside them; signatures identify transactions."""

import re
from collections.abc import Callable, Sequence
from typing import Final

import base58

from wallets.chains.accounts import AccountKind
from wallets.chains.family import ChainFamily
from wallets.chains.payments import PaymentRequest, WalletLink
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import accounts, links, proofs
from wallets.chains.solana import address as addresses
from wallets.chains.solana.adapter import SolanaAdapter, has_genesis
from wallets.chains.solana.balances import SolanaHoldings
from wallets.chains.solana.cashier import SolanaCashier
from wallets.chains.solana.names import ask_names
from wallets.chains.solana.times import SolanaTimes
from wallets.chains.solana.transactions import is_wallet
from wallets.chains.specs import ChainSpec, Network

_SIGNATURE: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{64,88}", re.ASCII)
_SIGNATURE_BYTES: Final = 64
# https://github.com/anza-xyz/wallet-standard, packages/core/chains; tokens for tests are on devnet.
_WALLETS_NETWORKS: Final = {
    Network.MAINNET: "solana:mainnet",
    Network.TESTNET: "solana:devnet",
    Network.LOCAL: "solana:localnet",
}


class SolanaFamily(ChainFamily):
    """Solana."""

    name = "solana"
    nobody = "1nc1nerator11111111111111111111111111111111"
    proof_hint = "Sign its bytes as they are (“signMessage”), and give the signature in base58."
    own_settings = ("WS_URL",)
    reads_accounts = True
    carries_reference = True

    def canonical_address(self, text: str, *, is_testnet: bool = False) -> str:
        """Return the address in base58. Raises AddressError."""
        return addresses.canonical_address(text)

    def address_key(self, text: str) -> bytes:
        """Return the 32 bytes of the public key. Raises AddressError."""
        return addresses.address_key(text)

    def refuse_trap(self, address: str) -> None:
        """Raise AddressError for Solana's own programs."""
        addresses.refuse_program(address)

    def ask_kind(self, node: Node, address: str) -> AccountKind:
        """Return what the account at an address says it is. Raises ChainError."""
        return accounts.ask_kind(node, address)

    def transaction_hash(self, text: str) -> str | None:
        """Return the signature in base58, 64 bytes long."""
        if not _SIGNATURE.fullmatch(text):
            return None
        try:
            is_one = len(base58.b58decode(text)) == _SIGNATURE_BYTES
        except ValueError:
            return None
        return text if is_one else None

    def is_signed_by(
        self, address: str, message: bytes, signature: str, *, public_key: str = "", digests: Sequence[bytes] = ()
    ) -> bool:
        """Whether the key signed the message itself; in base58."""
        return proofs.is_signed(self.address_key(address), message, signature)

    def token_names(self, pool: RpcPool, token: str) -> list[str]:
        """Read the metadata of a mint."""
        return pool.run(lambda node: ask_names(node, token))

    def open_node(self, url: str, *, api_key: str) -> Node:
        """Return a node."""
        return Node(url, headers={"x-api-key": api_key} if api_key else {})

    def identify(self, spec: ChainSpec) -> Callable[[Node], None] | None:
        """Compare the first block's hash."""
        return has_genesis(spec.network)

    def open_adapter(self, spec: ChainSpec, pool: RpcPool) -> SolanaAdapter:
        """Return a reader of token accounts."""
        return SolanaAdapter(spec, pool)

    def open_holdings(self, spec: ChainSpec, pool: RpcPool) -> SolanaHoldings:
        """Return a reader of token accounts' balances."""
        return SolanaHoldings(spec, pool)

    def open_times(self, spec: ChainSpec, pool: RpcPool) -> SolanaTimes:
        """Return the estimator of slots by time."""
        return SolanaTimes(spec, pool)

    def ask_newest(self, pool: RpcPool) -> object:
        """Ask for the slot."""
        return pool.call("getSlot", [{"commitment": "confirmed"}])

    def payment_uri(self, request: PaymentRequest) -> str | None:
        """Return the link of Solana Pay."""
        return links.payment_uri(request)

    def wallet_links(self, request: PaymentRequest, *, page_url: str) -> list[WalletLink]:
        """Return the link into Phantom."""
        return links.wallet_links(request)

    def wallets_chain_id(self, spec: ChainSpec) -> str | None:
        """Return the Wallet Standard's name of the network, if we can prepare the transfer."""
        return _WALLETS_NETWORKS[spec.network] if self.prepares_payments(spec) else None

    def prepares_payments(self, spec: ChainSpec) -> bool:
        """Whether the chain has a node."""
        return bool(spec.rpc_urls)

    def open_cashier(self, spec: ChainSpec, pool: RpcPool) -> SolanaCashier:
        """Return the cashier that prepares transfers."""
        return SolanaCashier(pool)

    def can_sign(self, address: str) -> bool:
        """Whether the address is a key, not derived by a program."""
        return is_wallet(address)


SOLANA_FAMILY: Final = SolanaFamily()
