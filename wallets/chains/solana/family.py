"""The Solana family: accounts are keys, with token accounts beside them; signatures identify transactions."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

import base58

from gateway.core.money import format_units
from wallets.chains.base import AddressError, BlockRef
from wallets.chains.family import AccountKind, ChainFamily, ChainSpec, Network, PaymentRequest
from wallets.chains.rpc.client import Node
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana import decode, proofs
from wallets.chains.solana.adapter import SolanaAdapter, has_genesis
from wallets.chains.solana.balances import SolanaHoldings
from wallets.chains.solana.questions import ask_head, slot_name
from wallets.chains.solana.unsigned_payment import SolanaCashier, is_wallet

_ADDRESS: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}", re.ASCII)
_KEY_BYTES: Final = 32
# Solana's own programs and sysvars spell their purpose and are filled with 1: Stake111..., SysvarC1ock111...
_NATIVE: Final = re.compile("1{8}")
_PROGRAMS: Final = {
    "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
    "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
    "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
    "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
}

# Percent-encoded bytes: a QR code grows with each, and phones must still read it.
_LONGEST_LABEL: Final = 32
_LONGEST_MESSAGE: Final = 48

# https://developers.metaplex.com/token-metadata: an account derived from the mint. A byte, two keys, then texts.
_METAPLEX: Final = "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s"
_METAPLEX_TEXTS: Final = 1 + 32 + 32
# The extensions of a mint come behind 165 bytes and a kind: entries of type, length and value (Token-2022's source).
_MINT_EXTENSIONS: Final = 166
_TOKEN_METADATA: Final = 19
_METADATA_TEXTS: Final = 32 + 32
_LONGEST_NAME: Final = 200

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_SYSTEM_PROGRAM: Final = "1" * 32
# The layouts are in the source of the SPL token programs: a mint has 82 bytes, a token account 165, a multisig 355. With
# extensions (Token-2022) a byte after the first 165 says which it is.
_MINT_LENGTH: Final = 82
_BASE_LENGTH: Final = 165
_MULTISIG_LENGTH: Final = 355
_MINT_TYPE: Final = 1
# The owner's place in a token account, in both programs.
_OWNER: Final = slice(32, 64)

_SIGNATURE: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{64,88}", re.ASCII)
_SIGNATURE_BYTES: Final = 64
# https://github.com/anza-xyz/wallet-standard, packages/core/chains; tokens for tests are on devnet.
_WALLETS_NETWORKS: Final = {
    Network.MAINNET: "solana:mainnet",
    Network.TESTNET: "solana:devnet",
    Network.LOCAL: "solana:localnet",
}


def canonical_address(text: str) -> str:
    """Return an address; it has only one spelling. Raises AddressError."""
    address_key(text)
    return text


def address_key(text: str) -> bytes:
    """Return the 32 bytes of the public key. Raises AddressError."""
    key = base58.b58decode(text) if _ADDRESS.fullmatch(text) else b""
    if len(key) != _KEY_BYTES:
        raise AddressError("must be a Solana address: 32 bytes in base58.")
    return key


def refuse_program(address: str) -> None:
    """Raise AddressError for Solana's own programs."""
    if address in _PROGRAMS or _NATIVE.search(address):
        raise AddressError("must not be a program of Solana: money sent there is lost.")


def payment_uri(request: PaymentRequest) -> str:
    """Return `solana:<owner>?amount=<decimal>&spl-token=<mint>&reference=<base58>&label=&message=` (Solana Pay 1.1)."""
    query = {"amount": format_units(request.units), "spl-token": request.token_address}
    if request.reference:
        query["reference"] = base58.b58encode(request.reference).decode()
    parts = [f"{name}={value}" for name, value in query.items()]
    if label := _capped(request.label, _LONGEST_LABEL):
        parts.append(f"label={label}")
    if message := _capped(request.message, _LONGEST_MESSAGE):
        parts.append(f"message={message}")
    return f"solana:{request.address}?{'&'.join(parts)}"


def _capped(text: str, most: int) -> str:
    """Percent-encode as much of `text` as fits, never half a character."""
    encoded = ""
    for character in text:
        piece = quote(character, safe="", errors="ignore")
        if len(encoded) + len(piece) > most:
            break
        encoded += piece
    return encoded


def ask_names(node: Node, mint: str) -> list[str]:
    """Return a token's name and symbol as far as they can be read."""
    options = {"commitment": "confirmed", "encoding": "base64"}
    keys = [_metadata_account(mint), mint]
    _, accounts = decode.in_context(node.call("getMultipleAccounts", [keys, options]))
    metadata, own = (_data(account) for account in decode.items(accounts))
    return [*_texts(metadata[_METAPLEX_TEXTS:]), *_extension(own)]


def _metadata_account(mint: str) -> str:
    # Slow to import, and few names are asked for.
    from solders.pubkey import Pubkey

    program = Pubkey.from_string(_METAPLEX)
    seeds = [b"metadata", bytes(program), bytes(Pubkey.from_string(mint))]
    return str(Pubkey.find_program_address(seeds, program)[0])


def _data(account: Any) -> bytes:
    return b"" if account is None else decode.account_data(account)


def _extension(mint: bytes) -> Iterator[str]:
    left = mint[_MINT_EXTENSIONS:]
    while len(left) > 4:
        kind, length = (int.from_bytes(left[at : at + 2], "little") for at in (0, 2))
        if kind == _TOKEN_METADATA:
            yield from _texts(left[4 : 4 + length][_METADATA_TEXTS:])
        left = left[4 + length :]


def _texts(data: bytes) -> Iterator[str]:
    """Yield the name and the symbol, each behind its length and filled up with zeros."""
    for _ in range(2):
        length = int.from_bytes(data[:4], "little")
        if not 0 < length <= min(_LONGEST_NAME, len(data) - 4):
            return
        yield data[4 : 4 + length].decode(errors="ignore").strip("\0")
        data = data[4 + length :]


class SolanaTimes:
    """Estimates slots by time: Solana lists accounts by slots alone, so an estimate is enough."""

    def __init__(self, spec: ChainSpec, pool: RpcPool) -> None:
        self._pool = pool
        self._slot = timedelta(seconds=spec.block_seconds)

    def before(self, time: datetime) -> BlockRef:
        """Return a slot before a time, counted back from the newest at the nominal pace. Raises ChainError."""
        head = self._pool.run(ask_head)
        return self.at(max(head.height - (head.time - time) // self._slot, 0))

    def at(self, height: int) -> BlockRef:
        """Return the slot as a block."""
        return BlockRef(height, slot_name(height), "", _EPOCH)


def ask_kind(node: Node, address: str) -> AccountKind:
    """Return what is at an address. Raises ChainError."""
    return _kind(_account(node, address), has_key=is_wallet(address))


def ask_owner(node: Node, address: str) -> str | None:
    """Return the owner of a token account; None for anything else. Raises ChainError."""
    account = _account(node, address)
    if _kind(account, has_key=is_wallet(address)) is not AccountKind.TOKEN_ACCOUNT:
        return None
    owner = decode.account_data(account)[_OWNER]
    return base58.b58encode(owner).decode() if len(owner) == _KEY_BYTES else None


def _account(node: Node, address: str) -> Any:
    options = {"commitment": "confirmed", "encoding": "base64"}
    _, account = decode.in_context(node.call("getAccountInfo", [address, options]))
    return account


def _kind(account: Any, *, has_key: bool) -> AccountKind:
    if account is None:
        return AccountKind.WALLET if has_key else AccountKind.EMPTY
    owner = decode.key(decode.field(account, "owner"))
    is_program = decode.field(account, "executable")
    if type(is_program) is not bool:
        decode.refuse("whether an account is a program is neither true nor false")
    if is_program:
        return AccountKind.PROGRAM
    if owner in decode.TOKEN_PROGRAMS:
        return _token_kind(decode.account_data(account))
    if owner != _SYSTEM_PROGRAM:
        return AccountKind.PROGRAM
    # A vault is a plain account at an address that a program derives, and signs for.
    return AccountKind.WALLET if has_key else AccountKind.CONTRACT_WALLET


def _token_kind(data: bytes) -> AccountKind:
    if len(data) == _MULTISIG_LENGTH:
        return AccountKind.CONTRACT_WALLET
    if len(data) == _MINT_LENGTH or data[_BASE_LENGTH : _BASE_LENGTH + 1] == bytes([_MINT_TYPE]):
        return AccountKind.TOKEN
    return AccountKind.TOKEN_ACCOUNT


class SolanaFamily(ChainFamily):
    """Solana."""

    name = "solana"
    nobody = "1nc1nerator11111111111111111111111111111111"
    asset_namespace = "token"
    proof_hint = "Sign its bytes as they are (“signMessage”), and give the signature in base58."
    own_settings = ("WS_URL",)
    reads_accounts = True
    takes_fee_payer = True
    carries_reference = True

    def canonical_address(self, text: str, *, is_testnet: bool = False) -> str:
        """Return the address in base58. Raises AddressError."""
        return canonical_address(text)

    def address_key(self, text: str) -> bytes:
        """Return the 32 bytes of the public key. Raises AddressError."""
        return address_key(text)

    def refuse_trap(self, address: str) -> None:
        """Raise AddressError for Solana's own programs."""
        refuse_program(address)

    def ask_kind(self, node: Node, address: str) -> AccountKind:
        """Return what the account at an address says it is. Raises ChainError."""
        return ask_kind(node, address)

    def ask_owner(self, node: Node, address: str) -> str | None:
        """Return the owner of a token account: its program alone can write it. Raises ChainError."""
        return ask_owner(node, address)

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
        return payment_uri(request)

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
