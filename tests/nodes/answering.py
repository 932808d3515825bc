"""Code of contracts that answer chosen calls with chosen words, and nothing else."""

from collections.abc import Mapping, Sequence


def answering_code(answers: Mapping[str, Sequence[int]]) -> str:
    """Return runtime code in hexadecimal, for `anvil_setCode`.

    Each call begins with the hexadecimal digits of a key, at most 32 bytes; the first key that fits is answered. An empty
    key answers every call. Any other call ends without an answer.
    """
    tests = {key: _test(key, place=0) for key in answers}
    size = sum(len(code) for code in tests.values()) + 1
    head, tail = b"", b""
    for key, words in answers.items():
        head += _test(key, place=size + len(tail))
        tail += _reply(words)
    return "0x" + (head + b"\x00" + tail).hex()


def _test(key: str, *, place: int) -> bytes:
    """Jump to a place if the call begins with the key."""
    jump = b"\x61" + place.to_bytes(2, "big") + b"\x57"
    if not key:
        return b"\x60\x01" + jump
    wanted = bytes.fromhex(key)
    # CALLDATALOAD(0) >> the rest == wanted
    begins = bytes.fromhex("600035") + bytes([0x60, 256 - 8 * len(wanted), 0x1C])
    return begins + bytes([0x5F + len(wanted)]) + wanted + b"\x14" + jump


def _reply(words: Sequence[int]) -> bytes:
    code = b"\x5b"
    for number, word in enumerate(words):
        code += b"\x7f" + word.to_bytes(32, "big")
        code += b"\x61" + (32 * number).to_bytes(2, "big") + b"\x52"
    return code + b"\x61" + (32 * len(words)).to_bytes(2, "big") + b"\x60\x00\xf3"
