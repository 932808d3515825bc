"""Changes a merchant's branding: validate, redraw the logo, audit.

Only the pixels of a redrawn logo are served, never an uploaded file.
"""

import io
import struct
import unicodedata
import zlib
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, TypedDict

from django.db import transaction
from django.utils.translation import gettext_noop
from PIL import Image, ImageOps

from accounts.audit.actors import SYSTEM, Actor
from accounts.audit.service import record
from accounts.brand.colours import is_colour
from accounts.models import Branding, Merchant
from gateway.core.api.errors import InvalidRequestError
from gateway.core.outbound import check_url, url_policy

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
_NOT_A_PICTURE = gettext_noop("The logo must be a PNG, JPEG, WebP or GIF picture. SVG is not supported.")
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

# Half of a SHA-256 in hexadecimal: enough to make collisions infeasible.
DIGEST_LENGTH: Final = 32
# As long as the columns.
_LENGTHS: Final = {"display_name": 80, "return_label": 40, "legal_lines": 400}
MOST_LEGAL_LINES: Final = 6
# Joiners shape letters in Persian, Hindi and many more, and do not reorder text.
_JOINERS = "\u200c\u200d"


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
        raise LogoError(gettext_noop("The logo must not be larger than 2 MB."))
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
    raise LogoError(gettext_noop("The logo must not have more than ten million pixels."))


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


class BrandingChanges(TypedDict, total=False):
    """Changes of branding. An empty value resets to the default; a missing key stays unchanged.

    `logo` is an uploaded picture, `accent` is `#rrggbb`.
    """

    display_name: str
    logo: bytes
    accent: str
    support_url: str
    terms_url: str
    return_label: str
    legal_lines: str


def change_branding(merchant: Merchant, *, changes: BrandingChanges, now: datetime, actor: Actor = SYSTEM) -> Branding:
    """Change a merchant's branding, or refuse all changes. Idempotent.

    The audit entry names what changed; a logo by its digest. Raises InvalidRequestError whose `param` is the key.
    """
    wanted = _checked(changes)
    with transaction.atomic():
        branding, _ = Branding.objects.select_for_update().get_or_create(
            merchant=merchant, defaults={"updated_at": now}
        )
        before = {
            name: getattr(branding, name) for name, value in wanted.items() if _plain(getattr(branding, name)) != value
        }
        if before:
            after = {name: wanted[name] for name in before}
            _save(branding, after, now)
            record(
                merchant,
                action="merchant.branding_changed",
                actor=actor,
                object_id=merchant.public_id,
                before=_audited(before),
                after=_audited(after),
                now=now,
            )
    # Cached relations show the old branding.
    merchant.branding = branding
    return branding


def _save(branding: Branding, after: Mapping[str, Any], now: datetime) -> None:
    for name, value in after.items():
        setattr(branding, name, value)
    branding.updated_at = now
    branding.save(update_fields=[*after, "updated_at"])


def _plain(value: Any) -> Any:
    """Return a column's bytes as bytes: the database returns a view of them."""
    return bytes(value) if isinstance(value, memoryview) else value


def _audited(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != "logo"}


def _checked(changes: BrandingChanges) -> dict[str, Any]:
    """Return the columns to write. Raises InvalidRequestError."""
    wanted: dict[str, Any] = {
        name: _CHECKS[name](str(value), name) for name, value in changes.items() if name != "logo"
    }
    if "logo" in changes:
        logo = redraw(changes["logo"]) if changes["logo"] else b""
        digest = sha256(logo).hexdigest()[:DIGEST_LENGTH] if logo else ""
        wanted |= {"logo": logo, "logo_digest": digest}
    return wanted


def _words(text: str, param: str) -> str:
    """Return a line of plain text, without hidden characters, line breaks or text-direction marks."""
    words = unicodedata.normalize("NFC", text.strip())
    if len(words) > _LENGTHS[param]:
        raise InvalidRequestError(f"{param} must not be longer than {_LENGTHS[param]} characters.", param=param)
    if any(map(_is_hidden, words)) or (words and not any(map(_is_seen, words))):
        raise InvalidRequestError(f"{param} must be one line of visible characters.", param=param)
    return words


def _lines(text: str, param: str) -> str:
    """Return lines of plain text, without empty ones."""
    lines = [line for each in text.split("\n") if (line := _words(each, param))]
    joined = "\n".join(lines)
    if len(lines) > MOST_LEGAL_LINES or len(joined) > _LENGTHS[param]:
        message = f"{param} must not have more than {MOST_LEGAL_LINES} lines and {_LENGTHS[param]} characters."
        raise InvalidRequestError(message, param=param)
    return joined


def _is_hidden(character: str) -> bool:
    kind = unicodedata.category(character)
    is_format = kind == "Cf" and character not in _JOINERS
    return is_format or kind in {"Cc", "Cs", "Co", "Cn", "Zl", "Zp"}


def _is_seen(character: str) -> bool:
    return unicodedata.category(character)[0] not in "CMZ"


def _accent(text: str, param: str) -> str:
    colour = text.strip().lower()
    if colour and not is_colour(colour):
        raise InvalidRequestError(f"{param} must be a colour such as #2440d8.", param=param)
    return colour


def _link(text: str, param: str) -> str:
    url = text.strip()
    if url:
        check_url(url, param=param, policy=url_policy())
    return url


_CHECKS: Mapping[str, Callable[[str, str], str]] = {
    "display_name": _words,
    "return_label": _words,
    "legal_lines": _lines,
    "accent": _accent,
    "support_url": _link,
    "terms_url": _link,
}
