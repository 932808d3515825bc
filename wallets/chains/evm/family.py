"""The EVM family: Ethereum, Base, Polygon. What an address is there, tokens' names, and payment links."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from wallets.chains.base import ChainMismatchError, MalformedAnswerError
from wallets.chains.evm import address as addresses
from wallets.chains.evm import proofs
from wallets.chains.evm.adapter import EvmAdapter
from wallets.chains.evm.balances import EvmHoldings
from wallets.chains.evm.decode import ETHEREUM_DIALECT
from wallets.chains.family import AccountKind, ChainFamily, ChainSpec, PaymentRequest, TokenSpec
from wallets.chains.rpc.client import Call, Node, RefusedError, ask_all
from wallets.chains.rpc.pool import RpcPool, has_chain_id

# transfer(address,uint256)
_TRANSFER_SELECTOR: Final = bytes.fromhex("a9059cbb")
# symbol(), name()
_NAME_SELECTORS: Final = ("0x95d89b41", "0x06fdde03")
_WORD: Final = 32
_LONGEST_TEXT: Final = 4_096

_ASK_SECONDS: Final = 5.0
_MOST_BYTES: Final = 8_192
_MOST_OWNERS: Final = 100
# A key's own account that borrows code (EIP-7702): this prefix, and the address of the code.
_BORROWED: Final = bytes.fromhex("ef0100")
_BORROWED_LENGTH: Final = 23
# The first four bytes of the hash of each function's signature.
_NONSENSE: Final = "f10c1e57"
_ASSET: Final = "38d52e0f"  # asset(), ERC-4626
_TOKEN: Final = ("313ce567", "18160ddd")  # decimals(), totalSupply()
_EXCHANGE: Final = ("0dfe1681", "ad5c4648")  # token0(), WETH()
_SUPPORTS: Final = "01ffc9a7"  # supportsInterface(bytes4), ERC-165
_NFT: Final = ("80ac58cd", "d9b67a26")  # ERC-721, ERC-1155
_SIGNS: Final = ("1626ba7e", "3a871cdd", "19822f7c")  # ERC-1271, ERC-4337 0.6 and 0.7
_OWNERS: Final = "a0e67e2b"  # getOwners(): Safe, MultiSigWallet
_THRESHOLD: Final = ("e75235b8", "dc8452cd")  # getThreshold(), required()
_ACCOUNT: Final = ("b0d691fe", "9cfd7cff")  # entryPoint(), ERC-4337; accountId(), ERC-7579
_VOUCHES: Final = "1626ba7e"  # isValidSignature(bytes32,bytes), ERC-1271

HASH: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})", re.ASCII)
"""A transaction hash in hexadecimal, as people paste it."""


def payment_uri(request: PaymentRequest) -> str:
    """Return `ethereum:<token>@<chain id>/transfer?address=<to>&uint256=<the contract's units>` (ERC-681)."""
    target = f"{request.token_address}@{request.spec.chain_id}/transfer"
    return f"ethereum:{target}?address={request.address}&uint256={request.contract_units}"


def ask_names(node: Node, contract: str) -> list[str]:
    """Return the symbol and the name as far as they can be read; `contract` is an address as the node writes it."""
    calls: list[Call] = [("eth_call", [{"to": contract, "data": selector}, "latest"]) for selector in _NAME_SELECTORS]
    return [text for answer in ask_all(node, calls) if (text := _text(answer))]


def refuse_other_decimals(node: Node, chain: str, tokens: Sequence[TokenSpec]) -> None:
    """Raise ChainMismatchError unless the contracts of these tokens count in the decimals that we know; and other ChainErrors."""
    calls: list[Call] = [("eth_call", [{"to": token.address, "data": f"0x{_TOKEN[0]}"}, "latest"]) for token in tokens]
    for token, answer in zip(tokens, ask_all(node, calls), strict=True):
        if answer != f"0x{token.contract_decimals:064x}":
            raise ChainMismatchError(
                f"{token.symbol} at {token.address} does not count in {token.contract_decimals} decimals on {node.label}, so nothing is read"
                f" there. Set CHAIN_{chain.upper()}_TOKEN_{token.symbol} to a contract that does, or name another node"
            )


def _text(answer: Any) -> str:
    """Return an ABI string, or the 32 bytes of old contracts; empty for anything else."""
    if not isinstance(answer, str) or len(answer) > _LONGEST_TEXT:
        return ""
    try:
        data = bytes.fromhex(answer.removeprefix("0x"))
    except ValueError:
        return ""
    if len(data) > 2 * _WORD and int.from_bytes(data[:_WORD]) == _WORD:
        length = int.from_bytes(data[_WORD : 2 * _WORD])
        data = data[2 * _WORD :][: min(length, _LONGEST_TEXT)]
    return data.decode(errors="ignore").strip("\0")


def ask_kind(node: Node, address: str) -> AccountKind:
    """Return what is at an address, in the node's form (0x and lower-case hex). Raises ChainError."""
    code = _bytes(node.call("eth_getCode", [address, "latest"]))
    is_borrowed = len(code) == _BORROWED_LENGTH and code.startswith(_BORROWED)
    if not code or is_borrowed:
        return AccountKind.WALLET
    return _Contract(node, address).kind()


class _Contract:
    """A contract that is asked what it is."""

    def __init__(self, node: Node, address: str) -> None:
        self._node = node
        self._address = address

    def kind(self) -> AccountKind:
        # A contract that answers even a nonsense call says nothing by its other answers.
        if self._ask(_NONSENSE):
            return AccountKind.CONTRACT
        if self._ask(_ASSET):
            return AccountKind.VAULT
        if any(self._ask(function) for function in _TOKEN):
            return AccountKind.TOKEN
        supported = self._supported((*_NFT, *_SIGNS))
        if supported & {*_NFT}:
            return AccountKind.NFT
        if any(self._ask(function) for function in _EXCHANGE):
            return AccountKind.CONTRACT
        is_wallet = supported & {*_SIGNS} or self._has_owners() or self._signs()
        return AccountKind.CONTRACT_WALLET if is_wallet else AccountKind.CONTRACT

    def _supported(self, interfaces: tuple[str, ...]) -> set[str]:
        """Return the interfaces that the contract claims, if it answers as ERC-165 demands."""
        if not self._supports(_SUPPORTS) or self._supports("ffffffff"):
            return set()
        return {each for each in interfaces if self._supports(each)}

    def _supports(self, interface: str) -> bool:
        answer = self._ask(_SUPPORTS + interface.ljust(2 * _WORD, "0"))
        return int.from_bytes(answer[:_WORD], "big") == 1

    def _has_owners(self) -> bool:
        """Whether the contract lists owners, and a possible number of them that must agree."""
        listed = self._ask(_OWNERS)
        start, count = (int.from_bytes(listed[place : place + _WORD], "big") for place in (0, _WORD))
        if start != _WORD or not 0 < count <= _MOST_OWNERS:
            return False
        if len(listed) < (2 + count) * _WORD:
            return False
        needed = [int.from_bytes(self._ask(each)[:_WORD], "big") for each in _THRESHOLD]
        return any(0 < each <= count for each in needed)

    def _signs(self) -> bool:
        """Whether the contract is an account of ERC-4337, or answers about an empty signature (ERC-1271)."""
        if any(self._ask(function) for function in _ACCOUNT):
            return True
        digest, place = "00" * _WORD, f"{2 * _WORD:064x}"
        return bool(self._ask(f"{_VOUCHES}{digest}{place}{65:064x}{'00' * 96}"))

    def _ask(self, data: str) -> bytes:
        """Return the contract's answer; empty if it is shorter than a word, or if the call reverts. Raises ChainError."""
        call = {"to": self._address, "data": f"0x{data}"}
        try:
            answer = self._node.call("eth_call", [call, "latest"], seconds=_ASK_SECONDS)
        except RefusedError as error:
            # A node that allows no calls, or lacks the block, says nothing about the contract.
            if not error.is_revert:
                raise
            return b""
        told = _bytes(answer)[:_MOST_BYTES]
        return told if len(told) >= _WORD else b""


def _bytes(answer: Any) -> bytes:
    if not isinstance(answer, str) or not answer.startswith("0x"):
        raise MalformedAnswerError("an answer about an address is not in hex")
    try:
        return bytes.fromhex(answer[2:])
    except ValueError:
        raise MalformedAnswerError("an answer about an address is not in hex") from None


class EvmFamily(ChainFamily):
    """Chains of Ethereum's kind."""

    name = "evm"
    nobody = "0x000000000000000000000000000000000000dEaD"
    asset_namespace = "erc20"
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
    signs_transfers = True
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
        return ask_kind(node, ETHEREUM_DIALECT.contract(address))

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
        """Return whether a contract confirms that it signed a personal message (ERC-1271). Raises ChainError."""
        signed = proofs.from_hex(signature)
        # A wallet may have recorded its signed messages on the chain; then its signature is empty.
        if not signed and signature != "0x":
            return False
        try:
            inner = proofs.unwrapped(signed).inner
        except ValueError:
            return False
        digest = proofs.personal_digest(message)
        if not proofs.is_vouched_for(pool, address, digest, inner):
            return False
        # A proof can take over another merchant's wallet, so with two or more nodes no single one is trusted.
        second = pool.second_opinion(proofs.question(address, digest, inner))
        return second is None or proofs.is_yes(second)

    def token_names(self, pool: RpcPool, token: str) -> list[str]:
        """Ask the contract for its symbol and name."""
        return pool.run(lambda node: ask_names(node, token))

    def open_node(self, url: str, *, api_key: str) -> Node:
        """Return a node; providers want keys in its address."""
        return Node(url, headers={})

    def identify(self, spec: ChainSpec) -> Callable[[Node], None] | None:
        """Check the chain id, and the decimals of the tokens that are taken: another number would make a price a million million times
        too large or too small.
        """
        if spec.chain_id is None:
            return None
        has_id = has_chain_id(spec.chain_id)
        # A local token stands in for a real one, and counts as it likes.
        tokens = () if spec.is_local else spec.machine_tokens

        def identify(node: Node) -> None:
            has_id(node)
            refuse_other_decimals(node, spec.name, tokens)

        return identify

    def open_adapter(self, spec: ChainSpec, pool: RpcPool) -> EvmAdapter:
        """Return a reader of its logs."""
        return EvmAdapter(spec, pool)

    def open_holdings(self, spec: ChainSpec, pool: RpcPool) -> EvmHoldings:
        """Return a reader of balances from the tokens' contracts."""
        return EvmHoldings(spec, pool, ETHEREUM_DIALECT)

    def ask_newest(self, pool: RpcPool) -> object:
        """Ask for the block's height."""
        return pool.call("eth_blockNumber", [])

    def payment_uri(self, request: PaymentRequest) -> str | None:
        """Return the link of ERC-681."""
        return payment_uri(request)

    def transfer_data(self, recipient: str, units: int) -> bytes | None:
        """Return the data of ERC-20's `transfer(address,uint256)`."""
        return _TRANSFER_SELECTOR + self.address_key(recipient).rjust(_WORD, b"\0") + units.to_bytes(_WORD)

    def wallets_chain_id(self, spec: ChainSpec) -> str | None:
        """Return the chain id in hexadecimal; the page writes the transfer itself."""
        return None if spec.chain_id is None else hex(spec.chain_id)


EVM_FAMILY: Final = EvmFamily()
