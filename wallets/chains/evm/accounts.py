"""What an EVM or Tron address is, by the code at it and what that answers.

A contract counts as a wallet only if it answers as one: everything else keeps tokens that nobody sends on. No single
answer is trusted to be true; each is read as bytes, and what is not an answer is none.
"""

from typing import Any, Final

from wallets.chains.accounts import AccountKind
from wallets.chains.base import MalformedAnswerError
from wallets.chains.rpc.client import Node, RefusedError

_ASK_SECONDS: Final = 5.0
_WORD: Final = 32
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
        # What answers everything with anything has said nothing.
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
        """Return the interfaces it says to have, if it answers as ERC-165 wants."""
        if not self._supports(_SUPPORTS) or self._supports("ffffffff"):
            return set()
        return {each for each in interfaces if self._supports(each)}

    def _supports(self, interface: str) -> bool:
        answer = self._ask(_SUPPORTS + interface.ljust(2 * _WORD, "0"))
        return int.from_bytes(answer[:_WORD], "big") == 1

    def _has_owners(self) -> bool:
        """Whether it lists owners, and how many of them must agree."""
        listed = self._ask(_OWNERS)
        start, count = (int.from_bytes(listed[place : place + _WORD], "big") for place in (0, _WORD))
        if start != _WORD or not 0 < count <= _MOST_OWNERS:
            return False
        if len(listed) < (2 + count) * _WORD:
            return False
        needed = [int.from_bytes(self._ask(each)[:_WORD], "big") for each in _THRESHOLD]
        return any(0 < each <= count for each in needed)

    def _signs(self) -> bool:
        """Whether it is an account of ERC-4337, or answers about a signature (ERC-1271), here an empty one."""
        if any(self._ask(function) for function in _ACCOUNT):
            return True
        digest, place = "00" * _WORD, f"{2 * _WORD:064x}"
        return bool(self._ask(f"{_VOUCHES}{digest}{place}{65:064x}{'00' * 96}"))

    def _ask(self, data: str) -> bytes:
        """Return what it answers; empty for less than a word, and where it reverts. Raises ChainError."""
        call = {"to": self._address, "data": f"0x{data}"}
        try:
            answer = self._node.call("eth_call", [call, "latest"], seconds=_ASK_SECONDS)
        except RefusedError as error:
            # A node that allows no calls, or lacks the block, tells nothing about the contract.
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
