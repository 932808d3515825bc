"""Redraws a merchant's logo, so that only its pixels are served, never an uploaded file.

Vector formats are refused: an SVG is a document that may hold scripts, links and other documents.
"""

import io
import struct
import zlib
from typing import Final

from PIL import Image, ImageOps

from gateway.core.api.errors import InvalidRequestError

MAX_UPLOAD_BYTES: Final = 2 * 1024 * 1024
# Decoded, a pixel takes four bytes, and drawing needs about three copies: 120 MB at most.
MAX_PIXELS: Final = 10_000_000
MAX_BYTES: Final = 256 * 1024
MAX_SIDE: Final = 512
MAX_SCANS: Final = 100
"""The maximum of a JPEG's scans; programs write about ten.

Each walks over all pixels, however few bytes it has: 2 MB of them take a minute.
"""

# Other decoders of Pillow never see the bytes.
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
# Noise does not compress: 192 pixels square take 147 KB at worst.
_SIDES = (MAX_SIDE, 384, 256, 192)
_JPEG: Final = b"\xff\xd8"
# The marker is unique in a scan: there, a zero follows every other 255 byte.
_SCAN: Final = b"\xff\xda"
_NOT_A_PICTURE = "The logo must be a PNG, JPEG, WebP or GIF picture. SVG is not supported."
# Pillow's exceptions for hostile bytes, found by fuzzing; a warning is one if warnings are errors.
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    EOFError,
    struct.error,
    zlib.error,
    Warning,
)


class LogoError(InvalidRequestError):
    """A file that cannot be a logo; the message gives its sender the reason."""

    code = "logo_invalid"

    def __init__(self, message: str) -> None:
        super().__init__(message, param="logo")


def redraw(data: bytes) -> bytes:
    """Return a picture as a PNG of at most `MAX_BYTES` and `MAX_SIDE` pixels a side, without metadata.

    Of an animation, the first frame is used. Raises LogoError. A picture that is too large is refused before decoding.
    """
    if len(data) > MAX_UPLOAD_BYTES:
        raise LogoError("The logo must not be larger than 2 MB.")
    if data.startswith(_JPEG) and data.count(_SCAN) > MAX_SCANS:
        raise LogoError(_NOT_A_PICTURE)
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
            width, height = picture.size
            if width * height <= MAX_PIXELS:
                return _encoded(_upright(picture))
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        pass
    except _BROKEN as error:
        raise LogoError(_NOT_A_PICTURE) from error
    raise LogoError("The logo must not have more than ten million pixels.")


def _upright(picture: Image.Image) -> Image.Image:
    """Decode a picture, rotate it by its camera's tag, and drop everything but the pixels."""
    picture.load()
    if picture.mode.startswith("I"):
        # 16 bits a pixel, which a plain conversion would truncate instead of scale.
        picture = picture.convert("I").point(lambda value: value / 256).convert("L")
    turned = ImageOps.exif_transpose(picture).convert("RGBA")
    turned.info = {}
    return turned


def _encoded(picture: Image.Image) -> bytes:
    drawings = (_drawn(picture, side) for side in _SIDES)
    return next(drawing for drawing in drawings if len(drawing) <= MAX_BYTES)


def _drawn(picture: Image.Image, side: int) -> bytes:
    # Never enlarges.
    picture.thumbnail((side, side), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()
