"""The Tron family: Ethereum's contracts and logs, with its own addresses, finality and wallets."""

from collections.abc import Callable, Sequence
from typing import Final

from wallets.chains.evm import proofs
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.evm.address import refuse_contract
from wallets.chains.evm.balances import EvmHoldings
from wallets.chains.evm.family import HASH, ask_kind, ask_names
from wallets.chains.family import AccountKind, ChainFamily, ChainSpec, PaymentRequest
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool, has_chain_id
from wallets.chains.tron import dialect, grid
from wallets.chains.tron.dialect import KEY_HEADER, TRON_DIALECT
from wallets.chains.tron.unsigned_payment import TronCashier

_MESSAGE_PREFIX: Final = b"\x19TRON Signed Message:\n"


def is_signed(key: bytes, message: bytes, signature: str) -> bool:
    """Whether the account of these 20 bytes signed a message; `signature` is hexadecimal."""
    return proofs.is_signed(key, message, signature, prefix=_MESSAGE_PREFIX)


class TronFamily(ChainFamily):
    """Tron."""

    name = "tron"
    nobody = "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb"
    asset_namespace = "trc20"
    proof_hint = "Sign it as a TRON message (TIP-191, “signMessageV2”). The signature begins with 0x."
    own_settings = ("GRID_URLS",)
    keys_name_contracts = True
    qr_is_address = True

    def canonical_address(self, text: str, *, is_testnet: bool = False) -> str:
        """Return the address in base58 with its checksum. Raises AddressError."""
        return dialect.canonical_address(text)

    def address_key(self, text: str) -> bytes:
        """Return the 20 bytes that contracts use. Raises AddressError."""
        return dialect.address_key(text)

    def refuse_trap(self, address: str) -> None:
        """Raise AddressError for our contracts and the network's."""
        refuse_contract(self.address_key(address))

    def ask_kind(self, node: Node, address: str) -> AccountKind:
        """Return what the code at an address says it is. Raises ChainError."""
        return ask_kind(node, TRON_DIALECT.contract(address))

    def transaction_hash(self, text: str) -> str | None:
        """Return 64 lower-case digits."""
        found = HASH.fullmatch(text)
        return found[1].lower() if found else None

    def is_signed_by(
        self, address: str, message: bytes, signature: str, *, public_key: str = "", digests: Sequence[bytes] = ()
    ) -> bool:
        """Whether the account signed a TRON message; in hexadecimal."""
        return is_signed(self.address_key(address), message, signature)

    def token_names(self, pool: RpcPool, token: str) -> list[str]:
        """Ask the contract for its symbol and name."""
        return pool.run(lambda node: ask_names(node, TRON_DIALECT.contract(token)))

    def open_node(self, url: str, *, api_key: str) -> Node:
        """Return a node of java-tron's JSON-RPC."""
        return Node(url, headers={KEY_HEADER: api_key} if api_key else {})

    def identify(self, spec: ChainSpec) -> Callable[[Node], None] | None:
        """Check the chain id."""
        return has_chain_id(spec.chain_id) if spec.chain_id is not None else None

    def open_adapter(self, spec: ChainSpec, pool: RpcPool) -> EvmAdapter:
        """Return a reader of its logs."""
        return EvmAdapter(spec, pool, dialect=TRON_DIALECT)

    def open_holdings(self, spec: ChainSpec, pool: RpcPool) -> EvmHoldings:
        """Return a reader of balances from the tokens' contracts."""
        return EvmHoldings(spec, pool, TRON_DIALECT)

    def ask_newest(self, pool: RpcPool) -> object:
        """Ask for the block's height."""
        return pool.call("eth_blockNumber", [])

    def payment_uri(self, request: PaymentRequest) -> str | None:
        """Return None: `tron:` links name no token, so that a wallet would send its native coin."""
        return None

    def wallets_chain_id(self, spec: ChainSpec) -> str | None:
        """Return the chain id in hexadecimal, if we can prepare the transfer."""
        if spec.chain_id is None or not self.prepares_payments(spec):
            return None
        return hex(spec.chain_id)

    def prepares_payments(self, spec: ChainSpec) -> bool:
        """Return whether the chain has a node, and a TronGrid to send through."""
        return bool(spec.rpc_urls and spec.grid_urls)

    def open_cashier(self, spec: ChainSpec, pool: RpcPool) -> TronCashier:
        """Return the cashier that prepares and sends calls of the token's contract."""
        nodes = [grid.open_node(spec, url) for url in spec.grid_urls]
        return TronCashier(pool, RpcPool(nodes))


TRON_FAMILY: Final = TronFamily()
