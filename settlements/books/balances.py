"""Reads many addresses' balances of a token with one call that every EVM node supports, without a contract of ours.

An eth_call without `to` runs its data as a contract's constructor, and returns the constructor's result: here the balances.
Nothing is deployed, and no gas is paid. Libraries such as viem call this deployless. Pure.

The data is the program below, then the token's address and the holders', 32 bytes each. The answer is a zero word, because
no code may begin with 0xEF (EIP-3541), and a word for each holder; code is at most 24,576 bytes long (EIP-170).
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from wallets.chains.evm.balances import BALANCE_OF
from wallets.chains.evm.decode import word
from wallets.chains.rpc.batches import ask_all
from wallets.chains.rpc.client import Call, Node, RefusedError

MOST_HOLDERS: Final = 200
"""Holders per call: some three million gas, which every provider allows for a call."""

_WORD_DIGITS: Final = 64
_WORDS: Final = re.compile(r"0x(?:[0-9a-fA-F]{64})+", re.ASCII)

# The stack holds the token, where in memory the next answer goes, and where in the code the next holder is.
_PROGRAM: Final = "".join(
    (
        "60206054600039600051",  # the token: the word behind this program
        "6370a0823160e01b600052",  # memory 0x00: balanceOf's selector; its argument follows it
        "60606074",  # answers go to 0x60 on, behind the word of zero; holders are behind the token
        "5b38811015604557",  # loop: while there are holders, else go to 0x45
        "602081600439",  # the next holder is the argument
        "60208260246000865afa",  # static call of the token, its answer to where the next one goes
        "601f3d111615604e57",  # it worked and answered a word, else go to 0x4e
        "6020019060200190601956",  # on to the next ones
        "5b50604090036040f3",  # 0x45: return all from 0x40 on
        "5b60006000fd",  # 0x4e: one unreadable balance reverts the whole call
    )
)


def balances_of(node: Node, token: str, holders: Sequence[bytes], *, height: int) -> list[int]:
    """Return the balances of up to MOST_HOLDERS addresses of a token (0x and hex), in base units, at a block.

    A node that does not support this call is asked for each balance separately, in batches. Raises ChainError.
    """
    try:
        answer = node.call("eth_call", [_question(token, holders), hex(height)])
    except RefusedError:
        answer = None
    if _is_whole(answer, len(holders)):
        return _words(answer)[1:]
    calls: list[Call] = [_single(token, holder, height) for holder in holders]
    return [int(word(one), 16) for one in ask_all(node, calls)]


def _question(token: str, holders: Sequence[bytes]) -> dict[str, str]:
    addresses = [token.removeprefix("0x"), *(holder.hex() for holder in holders)]
    padded = "".join(address.rjust(_WORD_DIGITS, "0") for address in addresses)
    return {"data": f"0x{_PROGRAM}{padded}"}


def _single(token: str, holder: bytes, height: int) -> Call:
    data = BALANCE_OF + holder.hex().rjust(_WORD_DIGITS, "0")
    return "eth_call", [{"to": token, "data": data}, hex(height)]


def _is_whole(answer: Any, count: int) -> bool:
    return (
        isinstance(answer, str)
        and len(answer) == 2 + (1 + count) * _WORD_DIGITS
        and _WORDS.fullmatch(answer) is not None
    )


def _words(answer: str) -> list[int]:
    places = range(2, len(answer), _WORD_DIGITS)
    return [int(answer[place : place + _WORD_DIGITS], 16) for place in places]
