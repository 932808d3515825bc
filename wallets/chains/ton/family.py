"""The TON family: wallets are contracts with jetton wallets beside them; an index is read instead of nodes."""

import base64
import binascii
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from wallets.chains.base import BlockRef, ChainUnavailableError, Holdings, MalformedAnswerError
from wallets.chains.evm.family import HASH
from wallets.chains.evm.proofs import from_hex
from wallets.chains.family import AccountKind, ChainFamily, ChainSpec, Network, PaymentRequest, TokenSpec
from wallets.chains.rpc.client import TOTAL_SECONDS, Node
from wallets.chains.rpc.pool import RpcPool
from wallets.chains.solana.proofs import verifies
from wallets.chains.ton import address as addresses
from wallets.chains.ton import decode
from wallets.chains.ton.adapter import TonAdapter, has_network
from wallets.chains.ton.address import address_key, shown_address
from wallets.chains.ton.decode import block_name
from wallets.chains.ton.questions import (
    AT_ONCE,
    PAGE,
    ask_block_at,
    ask_block_before,
    ask_head,
    ask_names,
    seconds,
    written_address,
)
from wallets.chains.ton.unsigned_payment import MOST_MESSAGES, NETWORKS, TonCashier, joined_requests

_WALLETS_PATH: Final = "jetton/wallets"

_UP_TO_4: Final = ("v3r1", "v3r2", "v4r1", "v4r2")
_KNOWN_CODES: Final = ("v2r1", "v2r2", *_UP_TO_4, "hv2")
# The hash of a v5r1 wallet's code.
_V5R1_CODE: Final = bytes.fromhex("20834b7b72b112147e1b2fb457b84e74d1a30f04f737d4f62a668e9552d2b72f")
# How deep that code is as a tree of cells.
_V5R1_CODE_DEPTH: Final = 6
# A wallet's id contains its network's number: one key has two wallets, on mainnet and testnet.
_NETWORK_NUMBERS: Final = (-239, -3)
# The first bit says that the rest is workchain, version and number of the wallet, which are all 0.
_FIRST_WALLET: Final = 1 << 31

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_BEFORE_ALL: Final = BlockRef(0, block_name(0), "", _EPOCH)

KEY_HEADER: Final = "X-API-Key"
"""The header of a toncenter API key."""

PAUSE_SECONDS: Final = 1.05
_LIMITED_HOST: Final = "toncenter.com"

_ACTIVE: Final = "active"
_UNUSED: Final = {"uninit", "nonexist"}
_STATUSES: Final = {_ACTIVE, "frozen", *_UNUSED}
# TVM's codes for a method that ended well.
_DONE_CODES: Final = {0, 1}
# Asked in this order: a contract that answers as a token is one, whatever else it answers. Sources: TEP-62, TEP-74, TEP-89;
# https://github.com/ton-blockchain, wallet-contract-v5, highload-wallet-contract-v3, multisig-contract-v2.
_METHODS: Final = (
    ("get_wallet_data", AccountKind.TOKEN_ACCOUNT),
    ("get_jetton_data", AccountKind.TOKEN),
    ("get_nft_data", AccountKind.NFT),
    ("get_collection_data", AccountKind.NFT),
    ("get_multisig_data", AccountKind.CONTRACT_WALLET),
    ("get_public_key", AccountKind.WALLET),
    ("seqno", AccountKind.WALLET),
)

_BASE64_HASH: Final = re.compile(r"[A-Za-z0-9+/_-]{43}=?", re.ASCII)


class TonHoldings:
    """Reads balances on TON through a pool of toncenter nodes."""

    def __init__(self, spec: ChainSpec, pool: RpcPool) -> None:
        self._tokens: Sequence[TokenSpec] = spec.machine_tokens
        self._pool = pool

    @property
    def at_once(self) -> int:
        """Return the number of accounts that one request can name."""
        return AT_ONCE

    def read(self, accounts: Mapping[bytes, str]) -> Holdings:
        """Read all jetton wallets. Raises ChainError."""
        return self._pool.run(lambda node: self._read(node, list(accounts)))

    def _read(self, node: Node, keys: Sequence[bytes]) -> Holdings:
        # The height is read first, so the balances are of this block or a later one.
        height = ask_head(node).height
        units: dict[bytes, dict[str, int]] = {key: {} for key in keys}
        for token in self._tokens:
            master = address_key(token.address)
            held = _held(node, keys, master)
            for key in keys:
                units[key][token.symbol] = held.get(key, 0)
        return Holdings(height, units)


def _held(node: Node, owners: Collection[bytes], master: bytes) -> Mapping[bytes, int]:
    found: dict[bytes, int] = {}
    ordered = sorted(owners)
    for start in range(0, len(ordered), AT_ONCE):
        query = [("owner_address", written_address(owner)) for owner in ordered[start : start + AT_ONCE]]
        query += [("jetton_address", written_address(master)), ("limit", str(PAGE))]
        answer = node.get(_WALLETS_PATH, query)
        for row in decode.rows(answer, "jetton_wallets"):
            _, owner, its_master = decode.jetton_wallet(row)
            if its_master != master or owner not in owners:
                raise MalformedAnswerError(f"{node.label} lists a stranger's wallet")
            if owner in found:
                raise MalformedAnswerError(f"{node.label} gives an owner two wallets")
            found[owner] = decode.amount(decode.mapping(row).get("balance"))
    return found


def payment_uri(request: PaymentRequest) -> str:
    """Return `ton://transfer/<owner>?jetton=<master>&amount=<base units>&text=<comment>&exp=<unix time>`.

    Without `jetton` the amount would be nanotons. `exp` is there if the request ends: after it wallets refuse the link.
    """
    query = {"jetton": request.token_address, "amount": str(request.units)}
    if request.memo:
        query["text"] = request.memo
    if request.until:
        query["exp"] = str(int(request.until.timestamp()))
    owner = shown_address(request.address) or request.address
    return f"ton://transfer/{owner}?{urlencode(query)}"


def standard_wallets(key: bytes) -> Iterator[bytes]:
    """Yield the wallets of a public key of 32 bytes in the basic workchain, as `address_key` writes addresses."""
    from tonsdk.contract.wallet import Wallets, WalletVersionEnum

    for version in _UP_TO_4:
        kind = Wallets.ALL[WalletVersionEnum(version)]
        # Computes addresses only, without a private key.
        wallet = kind(public_key=key, private_key=b"", wc=0)
        yield b"\0" + bytes(wallet.address.hash_part)
    for network in _NETWORK_NUMBERS:
        yield b"\0" + _v5r1(key, network)


@cache
def wallet_codes() -> frozenset[str]:
    """Return the hashes of the codes of standard wallets, in hexadecimal."""
    from tonsdk.contract.wallet import Wallets, WalletVersionEnum

    kinds = [Wallets.ALL[WalletVersionEnum(version)] for version in _KNOWN_CODES]
    made = [kind(public_key=bytes(32), private_key=b"", wc=0) for kind in kinds]
    codes = {wallet.options["code"].bytes_hash().hex() for wallet in made}
    return frozenset(codes | {_V5R1_CODE.hex()})


def _v5r1(key: bytes, network: int) -> bytes:
    """Return the hash of a wallet's first state, by which TON derives its address.

    A cell's hash is of its sizes, its bits padded with 10…0, and the depths and hashes of its references.
    """
    wallet_id = (network ^ _FIRST_WALLET) & 0xFFFF_FFFF
    # Signatures are allowed: 1; 32 bits of a counter at 0; id; key; no extensions: 0.
    bits = (1 << 32 << 32 | wallet_id) << 256 | int.from_bytes(key, "big")
    data = _filled(bits << 1, 322)
    # No depth to begin at, nothing special, code, data, no library: 00110.
    state = _filled(0b00110, 5)
    depths = _V5R1_CODE_DEPTH.to_bytes(2, "big") + bytes(2)
    data_hash = sha256(b"\x00\x51" + data).digest()
    return sha256(b"\x02\x01" + state + depths + _V5R1_CODE + data_hash).digest()


def _filled(bits: int, count: int) -> bytes:
    missing = -(count + 1) % 8
    return ((bits << 1 | 1) << missing).to_bytes((count + 1 + missing) // 8, "big")


def is_signed(wallet: bytes, message: bytes, text: str, *, public_key: str) -> bool:
    """Whether the key of a wallet signed a message; the signature is base64, the key 32 bytes in hexadecimal."""
    key = from_hex(public_key)
    try:
        signature = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    if len(key) != 32 or not verifies(key, message, signature):
        return False
    return wallet in standard_wallets(key)


class TonTimes:
    """Finds blocks by time: TON lists accounts by time, and its index has each block's."""

    def __init__(self, pool: RpcPool) -> None:
        self._pool = pool

    def before(self, time: datetime) -> BlockRef:
        """Return the newest older block. Before the index's first block there is nothing to read.

        Raises ChainError.
        """
        found = self._pool.run(lambda node: ask_block_before(node, seconds(time)))
        return found or _BEFORE_ALL

    def at(self, height: int) -> BlockRef:
        """Return the block. Raises ChainError, ChainUnavailableError if no node has it."""
        if height == _BEFORE_ALL.height:
            return _BEFORE_ALL
        found = self._pool.run(lambda node: ask_block_at(node, height))
        if found is None:
            raise ChainUnavailableError(f"the node does not have block {height}")
        return found


class PacedNode(Node):
    """A node with a pause between requests. A reading takes three in a row, and the second would always be refused."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(url, headers=headers)
        self._clock = clock
        self._sleep = sleep
        self._free_at = clock()

    def get(self, path: str, query: Sequence[tuple[str, str]] = (), *, seconds: float = TOTAL_SECONDS) -> Any:
        """As Node.get, after a pause since the last request's end."""
        return self._paced(lambda: super(PacedNode, self).get(path, query, seconds=seconds))

    def post(self, path: str, document: Any, *, seconds: float = TOTAL_SECONDS) -> Any:
        """As Node.post, after the same pause."""
        return self._paced(lambda: super(PacedNode, self).post(path, document, seconds=seconds))

    def _paced(self, request: Callable[[], Any]) -> Any:
        wait = self._free_at - self._clock()
        if wait > 0:
            self._sleep(wait)
        try:
            return request()
        finally:
            self._free_at = self._clock() + PAUSE_SECONDS


def open_node(url: str, *, headers: Mapping[str, str]) -> Node:
    """Return a toncenter node, paced if it is the public one and `headers` hold no key."""
    host = urlsplit(url).hostname or ""
    is_public = host == _LIMITED_HOST or host.endswith(f".{_LIMITED_HOST}")
    if is_public and not headers:
        return PacedNode(url)
    return Node(url, headers=headers)


def ask_kind(node: Node, key: bytes) -> AccountKind:
    """Return what is at an address, given as `address_key` writes it. Raises ChainError."""
    address = written_address(key)
    query = [("address", address), ("include_boc", "false")]
    status, code = _state(node.get("accountStates", query), key)
    if status in _UNUSED:
        return AccountKind.WALLET
    if status != _ACTIVE:
        return AccountKind.FROZEN
    if code in wallet_codes():
        return AccountKind.WALLET
    for method, kind in _METHODS:
        if _answers(node, address, method):
            return kind
    return AccountKind.CONTRACT


def _state(answer: Any, key: bytes) -> tuple[str, str]:
    """Return an account's status and the hash of its code; an index lists no account that was never used."""
    rows = decode.rows(answer, "accounts")
    if not rows:
        return "nonexist", ""
    fields = decode.mapping(rows[0])
    status = fields.get("status")
    if len(rows) > 1 or decode.key(fields.get("address")) != key:
        raise MalformedAnswerError("an index tells of another account than asked for")
    if not isinstance(status, str) or status not in _STATUSES:
        raise MalformedAnswerError("an account has no known status")
    code = fields.get("code_hash")
    return status, decode.hash_of(code) if code else ""


def _answers(node: Node, address: str, method: str) -> bool:
    """Whether the contract has a method that ends well."""
    question = {"address": address, "method": method, "stack": []}
    told = decode.mapping(node.post("runGetMethod", question)).get("exit_code")
    if type(told) is not int:
        raise MalformedAnswerError("a method ended without saying how")
    return told in _DONE_CODES


class TonFamily(ChainFamily):
    """TON."""

    name = "ton"
    nobody = "EQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAM9c"
    # CAIP-19 has no name for these yet, nor for those of Tron.
    asset_namespace = "jetton"
    proof_hint = (
        "Sign its bytes as they are with the Ed25519 key of a v3, v4 or v5 wallet, and give the signature in base64."
    )
    reads_accounts = True
    proof_needs_key = True
    carries_memo = True
    most_payments = MOST_MESSAGES
    relays_wallets = True

    def canonical_address(self, text: str, *, is_testnet: bool = False) -> str:
        """Return the address bounceable and URL-safe, marked on test networks. Raises AddressError."""
        return addresses.canonical_address(text, is_testnet=is_testnet)

    def address_key(self, text: str) -> bytes:
        """Return one byte of workchain, signed, then the 32 bytes of the account. Raises AddressError."""
        return addresses.address_key(text)

    def accounts_chain_id(self, spec: ChainSpec) -> str | None:
        """Return the network's number in TON Connect: its wallets tell their address, whoever writes the payment."""
        mainnet, testnet = _NETWORK_NUMBERS
        return str(testnet if spec.network is Network.TESTNET else mainnet)

    def shown_address(self, text: str) -> str | None:
        """Return the address in non-bounceable form."""
        return addresses.shown_address(text)

    def refuse_trap(self, address: str) -> None:
        """Raise AddressError for the masterchain's addresses."""
        addresses.refuse_masterchain(self.address_key(address))

    def ask_kind(self, node: Node, address: str) -> AccountKind:
        """Return what an address's state, code and methods say it is. Raises ChainError."""
        return ask_kind(node, self.address_key(address))

    def transaction_hash(self, text: str) -> str | None:
        """Return 64 lower-case hexadecimal digits, from hexadecimal or from base64, which only TON uses for hashes."""
        if found := HASH.fullmatch(text):
            return found[1].lower()
        return (_from_base64(text) or None) if _BASE64_HASH.fullmatch(text) else None

    def is_signed_by(
        self, address: str, message: bytes, signature: str, *, public_key: str = "", digests: Sequence[bytes] = ()
    ) -> bool:
        """Whether `public_key` is of a standard wallet at this address and signed the message itself; in base64."""
        key = self.address_key(address)
        return is_signed(key, message, signature, public_key=public_key)

    def token_names(self, pool: RpcPool, token: str) -> list[str]:
        """Ask the index for a jetton's content."""
        return pool.run(lambda node: ask_names(node, token))

    def open_node(self, url: str, *, api_key: str) -> Node:
        """Return an index client, paced for toncenter's public one."""
        headers = {KEY_HEADER: api_key} if api_key else {}
        return open_node(url, headers=headers)

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

    def wallets_chain_id(self, spec: ChainSpec) -> str | None:
        """Return TON Connect's name of the network, if we can prepare the transfer."""
        return NETWORKS[spec.network] if self.prepares_payments(spec) else None

    def prepares_payments(self, spec: ChainSpec) -> bool:
        """Whether the chain has a node."""
        return bool(spec.rpc_urls)

    def open_cashier(self, spec: ChainSpec, pool: RpcPool) -> TonCashier:
        """Return the cashier that prepares jetton transfers."""
        return TonCashier(spec, pool)

    def joined(self, transactions: Sequence[Any]) -> Any:
        """Return TON Connect's request with the messages of all."""
        return joined_requests(transactions)

    def payment_uri(self, request: PaymentRequest) -> str | None:
        """Return the link that TON's wallets share."""
        return payment_uri(request)


def _from_base64(text: str) -> str:
    """Return base64 as hexadecimal digits; empty if it is not a hash."""
    standard = text.rstrip("=").translate(str.maketrans("-_", "+/"))
    found = base64.b64decode(f"{standard}=")
    # Unused bits are zero in a program's output.
    return found.hex() if base64.b64encode(found) == f"{standard}=".encode() else ""


TON_FAMILY: Final = TonFamily()
