"""QR codes as files to download and print: SVG, and PNG without an imaging library. Pure."""

import struct
import zlib
from functools import lru_cache
from typing import Final

from checkouts.qr import QUIET_MODULES, qr_code, qr_rows

# Pixels a module: a code of a link has about 40 modules, so that its picture is some 500 pixels wide.
SCALE: Final = 12
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


@lru_cache(maxsize=256)
def qr_svg(text: str) -> bytes:
    """Return the code of `text` as an SVG file, black on white."""
    code = qr_code(text)
    x, y = code.view_box.split()[:2]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="512" height="512"'
        f' viewBox="{code.view_box}" shape-rendering="crispEdges">'
        f'<rect x="{x}" y="{y}" width="100%" height="100%" fill="#fff"/>'
        f'<path d="{code.path}" stroke="#000" fill="none"/></svg>\n'
    ).encode()


@lru_cache(maxsize=256)
def qr_png(text: str) -> bytes:
    """Return the code of `text` as a PNG file with one bit a pixel (https://www.w3.org/TR/png-3/)."""
    rows = qr_rows(text)
    side = (len(rows) + 2 * QUIET_MODULES) * SCALE
    margin = [False] * QUIET_MODULES
    blank = [[False] * len(rows)] * QUIET_MODULES
    lines = b"".join(
        _line(margin + row + margin) * SCALE for row in [*blank, *rows, *blank]
    )
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in chunks)


def _line(modules: list[bool]) -> bytes:
    """One row of pixels: no filter, then a bit a pixel, 1 for white, filled up to a byte."""
    bits = "".join(("0" if is_dark else "1") * SCALE for is_dark in modules)
    padded = bits + "0" * (-len(bits) % 8)
    return b"\x00" + int(padded, 2).to_bytes(len(padded) // 8, "big")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return (
        struct.pack(">I", len(data))
        + kind
        + data
        + struct.pack(">I", zlib.crc32(kind + data))
    )
