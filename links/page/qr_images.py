"""QR codes as PNG files, to download and print. Pure."""

import io
from functools import lru_cache
from typing import Final

from PIL import Image, ImageOps

from checkouts.page.qr import QUIET_MODULES, qr_rows

# Pixels per module: a link's code has about 40 modules, so its picture is some 500 pixels wide.
SCALE: Final = 12


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
