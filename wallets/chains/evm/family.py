"""The EVM family: Ethereum, Base, Polygon."""

import re
from collections.abc import Callable, Sequence
from typing import Final

from wallets.chains.accounts import AccountKind
from wallets.chains.evm import accounts, contract_wallets, links, proofs
from wallets.chains.evm import address as addresses
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.evm.balances import EvmHoldings
from wallets.chains.evm.dialect import ETHEREUM
from wallets.chains.evm.names import ask_names
from wallets.chains.family import ChainFamily
from wallets.chains.payments import PaymentRequest, WalletLink
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool, has_chain_id
from wallets.chains.specs import ChainSpec

HASH: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})", re.ASCII)
"""A transaction hash in hexadecimal, as people paste it."""


class EvmFamily(ChainFamily):
    """Chains of Ethereum's kind."""

    name = "evm"
    nobody = "0x000000000000000000000000000000000000dEaD"
    proof_hint = (
        "Sign it as a personal message (EIP-191, “personal_sign”). The signature begins with 0x. A contract wallet, such as a "
        "Safe, gives the signature that its contract accepts (ERC-1271); it has to be on the network already."
    )
    own_settings = ("WS_URL",)
    # https://geth.ethereum.org/docs/interacting-with-geth/rpc/pubsub
    head_subscription = ("eth_subscribe", ["newHeads"])
    has_contract_wallets = True
    has_forwarders = True
    keys_name_contracts = True
    signs_typed_data = True
    qr_is_address = True
    wallets_add_chains = True

    def canonical_address(self, text: str, *, is_testnet: bool = False) -> str:
        """Return the address with its checksum (EIP-55). Raises AddressError."""
        return addresses.canonical_address(text)

    def address_key(self, text: str) -> bytes:
        """Return the 20 bytes a contract knows. Raises AddressError."""
        return addresses.address_key(text)

    def refuse_trap(self, address: str) -> None:
        """Raise AddressError for our contracts and the network's."""
        addresses.refuse_contract(self.address_key(address))

    def ask_kind(self, node: Node, address: str) -> AccountKind:
        """Return what the code at an address says it is. Raises ChainError."""
        return accounts.ask_kind(node, ETHEREUM.contract(address))

    def transaction_hash(self, text: str) -> str | None:
        """Return 0x and 64 lower-case digits."""
        found = HASH.fullmatch(text)
        return f"0x{found[1].lower()}" if found else None

    def is_signed_by(
        self, address: str, message: bytes, signature: str, *, public_key: str = "", digests: Sequence[bytes] = ()
    ) -> bool:
        """Whether the account signed a personal message, or one of the `digests`; in hexadecimal."""
        key = self.address_key(address)
        return proofs.is_signed(key, message, signature, digests=digests)

    def is_vouched_for(self, pool: RpcPool, address: str, message: bytes, signature: str) -> bool:
        """Return whether the contract at an address confirms that it signed a personal message (ERC-1271). Raises ChainError."""
        signed = proofs.from_hex(signature)
        # A wallet may have recorded its signed messages on the chain; then its signature is empty.
        if not signed and signature != "0x":
            return False
        try:
            inner = contract_wallets.unwrapped(signed).inner
        except ValueError:
            return False
        digest = proofs.personal_digest(message)
        if not contract_wallets.is_vouched_for(pool, address, digest, inner):
            return False
        # A proof can take over another merchant's wallet, so with two or more nodes no single one is trusted.
        second = pool.second_opinion(contract_wallets.question(address, digest, inner))
        return second is None or contract_wallets.is_yes(second)

    def token_names(self, pool: RpcPool, token: str) -> list[str]:
        """Ask the contract for its symbol and name."""
        return pool.run(lambda node: ask_names(node, token))

    def open_node(self, url: str, *, api_key: str) -> Node:
        """Return a node; providers want keys in its address."""
        return Node(url, headers={})

    def identify(self, spec: ChainSpec) -> Callable[[Node], None] | None:
        """Check the chain id."""
        return has_chain_id(spec.chain_id) if spec.chain_id is not None else None

    def open_adapter(self, spec: ChainSpec, pool: RpcPool) -> EvmAdapter:
        """Return a reader of its logs."""
        return EvmAdapter(spec, pool)

    def open_holdings(self, spec: ChainSpec, pool: RpcPool) -> EvmHoldings:
        """Return a reader of balances from the tokens' contracts."""
        return EvmHoldings(spec, pool, ETHEREUM)

    def ask_newest(self, pool: RpcPool) -> object:
        """Ask for the block's height."""
        return pool.call("eth_blockNumber", [])

    def payment_uri(self, request: PaymentRequest) -> str | None:
        """Return the link of ERC-681."""
        return links.payment_uri(request)

    def wallet_links(self, request: PaymentRequest, *, page_url: str) -> list[WalletLink]:
        """Return the link into MetaMask."""
        return links.wallet_links(request)

    def wallets_chain_id(self, spec: ChainSpec) -> str | None:
        """Return the chain id in hexadecimal; the page writes the transfer itself."""
        return None if spec.chain_id is None else hex(spec.chain_id)


EVM_FAMILY: Final = EvmFamily()
