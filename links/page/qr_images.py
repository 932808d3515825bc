"""QR code files to download and print: SVG and PNG. Pure."""

import io
from functools import lru_cache
from typing import Final

from PIL import Image, ImageOps

from checkouts.page.qr import QUIET_MODULES, qr_code, qr_rows

# Pixels per module: a link's code has about 40 modules, so its picture is some 500 pixels wide.
SCALE: Final = 12


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
    """Return the code of `text` as a PNG file with one bit a pixel."""
    rows = qr_rows(text)
    code = Image.new("1", (len(rows), len(rows)))
    code.putdata([not is_dark for row in rows for is_dark in row])
    code = ImageOps.expand(code, QUIET_MODULES, fill=1)
    out = io.BytesIO()
    ImageOps.scale(code, SCALE, Image.Resampling.NEAREST).save(out, "PNG")
    return out.getvalue()
