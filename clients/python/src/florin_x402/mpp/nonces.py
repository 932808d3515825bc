"""The nonce that binds a signed transfer to its challenge: a Keccak-256 of the challenge's id and realm.

Python's `hashlib` has SHA-3, which pads otherwise, and the middleware needs no package but Python's own.
"""

import json
from typing import Final

_ROUNDS: Final = 24
_RATE: Final = 136
_LANE: Final = (1 << 64) - 1


def nonces_of(challenge_id: str, realm: str) -> frozenset[str]:
    """Return the nonces that sign for a challenge, as 0x and 64 lower-case digits.

    The draft and npm mppx 0.11 hash the two texts one after the other, PyPI pympp 0.16 a JSON list of them. An id has a fixed
    length, so neither can be that of another challenge.
    """
    listed = json.dumps([challenge_id, realm], separators=(",", ":"), ensure_ascii=False)
    return frozenset("0x" + keccak256(text.encode()).hex() for text in (challenge_id + realm, listed))


def keccak256(data: bytes) -> bytes:
    """Return the 32 bytes that Ethereum calls Keccak-256. Source: the Keccak reference, version 3.0."""
    padded = bytearray(data) + b"\x01" + bytes(-(len(data) + 1) % _RATE)
    padded[-1] |= 0x80
    lanes = [0] * 25
    for start in range(0, len(padded), _RATE):
        for place in range(_RATE // 8):
            at = start + 8 * place
            lanes[place] ^= int.from_bytes(padded[at : at + 8], "little")
        lanes = _permuted(lanes)
    return b"".join(lane.to_bytes(8, "little") for lane in lanes[:4])


def _permuted(lanes: list[int]) -> list[int]:
    """Return the state after 24 rounds; the lane of column x and row y is at x + 5y."""
    feedback = 1
    for _ in range(_ROUNDS):
        sums = [lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20] for x in range(5)]
        mixed = [sums[(x - 1) % 5] ^ _rotated(sums[(x + 1) % 5], 1) for x in range(5)]
        lanes = [lane ^ mixed[place % 5] for place, lane in enumerate(lanes)]
        lanes = _scattered(lanes)
        lanes = [
            lane ^ (~lanes[place // 5 * 5 + (place + 1) % 5] & lanes[place // 5 * 5 + (place + 2) % 5])
            for place, lane in enumerate(lanes)
        ]
        for power in range(7):
            feedback = (feedback << 1) ^ (0x171 if feedback & 0x80 else 0)
            if feedback & 2:
                lanes[0] ^= 1 << ((1 << power) - 1)
    return lanes


def _scattered(lanes: list[int]) -> list[int]:
    """Rotate each lane and move it to its next place (the steps rho and pi)."""
    found, x, y, current = list(lanes), 1, 0, lanes[1]
    for step in range(24):
        x, y = y, (2 * x + 3 * y) % 5
        place = x + 5 * y
        found[place], current = _rotated(current, (step + 1) * (step + 2) // 2), lanes[place]
    return found


def _rotated(lane: int, bits: int) -> int:
    bits %= 64
    return ((lane << bits) | (lane >> (64 - bits))) & _LANE
