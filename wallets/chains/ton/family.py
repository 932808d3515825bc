"""The TON family: wallets are contracts with jetton wallets beside them; an index is read instead of nodes."""

import base64
import re
from collections.abc import Callable, Sequence
from typing import Final

from wallets.chains.accounts import AccountKind
from wallets.chains.evm.family import HASH
from wallets.chains.family import ChainFamily
from wallets.chains.payments import PaymentRequest, WalletLink
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.specs import ChainSpec
from wallets.chains.ton import accounts, links, pace, proofs
from wallets.chains.ton import address as addresses
from wallets.chains.ton.adapter import TonAdapter, has_network
from wallets.chains.ton.balances import TonHoldings
from wallets.chains.ton.questions import ask_head, ask_names
from wallets.chains.ton.times import TonTimes

_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{43}=?", re.ASCII)


class TonFamily(ChainFamily):
    """TON."""

    name = "ton"
    nobody = "EQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAM9c"
    proof_hint = (
        "Sign its bytes as they are with the Ed25519 key of a v3, v4 or v5 wallet, and give the signature in base64."
    )
    reads_accounts = True
    proof_needs_key = True
    carries_memo = True

    def canonical_address(self, text: str, *, is_testnet: bool = False) -> str:
        """Return the address bounceable and URL-safe, marked on test networks. Raises AddressError."""
        return addresses.canonical_address(text, is_testnet=is_testnet)

    def address_key(self, text: str) -> bytes:
        """Return one byte of workchain, signed, then the 32 bytes of the account. Raises AddressError."""
        return addresses.address_key(text)

    def shown_address(self, text: str) -> str | None:
        """Return the address in non-bounceable form."""
        return addresses.shown_address(text)

    def refuse_trap(self, address: str) -> None:
        """Raise AddressError for the masterchain's addresses."""
        addresses.refuse_masterchain(self.address_key(address))

    def ask_kind(self, node: Node, address: str) -> AccountKind:
        """Return what an address's state, code and methods say it is. Raises ChainError."""
        return accounts.ask_kind(node, self.address_key(address))

    def transaction_hash(self, text: str) -> str | None:
        """Return 64 lower-case hexadecimal digits, from hexadecimal or from base64, which only TON uses for hashes."""
        if found := HASH.fullmatch(text):
            return found[1].lower()
        return (_from_base64(text) or None) if _BASE64.fullmatch(text) else None

    def is_signed_by(
        self, address: str, message: bytes, signature: str, *, public_key: str = "", digests: Sequence[bytes] = ()
    ) -> bool:
        """Whether `public_key` is of a standard wallet at this address and signed the message itself; in base64."""
        key = self.address_key(address)
        return proofs.is_signed(key, message, signature, public_key=public_key)

    def token_names(self, pool: RpcPool, token: str) -> list[str]:
        """Ask the index for a jetton's content."""
        return pool.run(lambda node: ask_names(node, token))

    def open_node(self, url: str, *, api_key: str) -> Node:
        """Return an index client, paced for toncenter's public one."""
        headers = {pace.KEY_HEADER: api_key} if api_key else {}
        return pace.open_node(url, headers=headers)

    def identify(self, spec: ChainSpec) -> Callable[[Node], None] | None:
        """Check the network's id."""
        return has_network(spec.network)

    def open_adapter(self, spec: ChainSpec, pool: RpcPool) -> TonAdapter:
        """Return a reader of jetton transfers."""
        return TonAdapter(spec, pool)

    def open_holdings(self, spec: ChainSpec, pool: RpcPool) -> TonHoldings:
        """Return a reader of jetton wallets' balances."""
        return TonHoldings(spec, pool)

    def open_times(self, spec: ChainSpec, pool: RpcPool) -> TonTimes:
        """Return the index's finder of blocks by time."""
        return TonTimes(pool)

    def ask_newest(self, pool: RpcPool) -> object:
        """Ask for the block."""
        return pool.run(ask_head)

    def payment_uri(self, request: PaymentRequest) -> str | None:
        """Return the link that TON's wallets share."""
        return links.payment_uri(request)

    def wallet_links(self, request: PaymentRequest, *, page_url: str) -> list[WalletLink]:
        """Return the links into Tonkeeper and MyTonWallet."""
        return links.wallet_links(request)


def _from_base64(text: str) -> str:
    """Return base64 as hexadecimal digits; empty if it is not a hash."""
    standard = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    found = base64.b64decode(f"{standard}=")
    # Unused bits are zero in a program's output.
    return found.hex() if base64.b64encode(found) == f"{standard}=".encode() else ""


TON_FAMILY: Final = TonFamily()
