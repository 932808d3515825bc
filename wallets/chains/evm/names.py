"""The names that a token's contract gives itself, on EVM chains and Tron."""

from typing import Any, Final

from wallets.chains.rpc.batches import ask_all
from wallets.chains.rpc.client import Call, Node

# symbol(), name()
_SELECTORS: Final = ("0x95d89b41", "0x06fdde03")
_WORD: Final = 32
_LONGEST: Final = 4_096


def ask_names(node: Node, contract: str) -> list[str]:
    """Return the symbol and the name as far as they can be read; `contract` is an address as the node writes it."""
    calls: list[Call] = [("eth_call", [{"to": contract, "data": selector}, "latest"]) for selector in _SELECTORS]
    return [text for answer in ask_all(node, calls) if (text := _text(answer))]


def _text(answer: Any) -> str:
    """Return an ABI string, or the 32 bytes of old contracts; empty for anything else."""
    if not isinstance(answer, str) or len(answer) > _LONGEST:
        return ""
    try:
        data = bytes.fromhex(answer.removeprefix("0x"))
    except ValueError:
        return ""
    if len(data) > 2 * _WORD and int.from_bytes(data[:_WORD]) == _WORD:
        length = int.from_bytes(data[_WORD : 2 * _WORD])
        data = data[2 * _WORD :][: min(length, _LONGEST)]
    return data.decode(errors="ignore").strip("\0")
