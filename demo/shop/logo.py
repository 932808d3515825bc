"""The demo shop's logo: an awning over a door, drawn by code so that no picture has to be kept."""

import io

from PIL import Image, ImageDraw

GREEN = "#0b6e4f"
_SIDE = 512
_STRIPES = 5
_CREAM = "#fbf3df"


def shop_logo() -> bytes:
    """Return a PNG, the same at each call."""
    picture = Image.new("RGB", (_SIDE, _SIDE), GREEN)
    pen = ImageDraw.Draw(picture)
    pen.rounded_rectangle((112, 290, 400, 430), radius=10, fill=_CREAM)
    pen.rectangle((226, 322, 286, 430), fill=GREEN)
    pen.ellipse((264, 372, 276, 384), fill=_CREAM)
    _awning(pen)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def _awning(pen: ImageDraw.ImageDraw) -> None:
    left, top, width, hem = 86, 92, 68, 226
    for stripe in range(_STRIPES):
        x = left + stripe * width
        colour = _CREAM if stripe % 2 == 0 else "#e8a33d"
        pen.rectangle((x, top, x + width - 1, hem), fill=colour)
        pen.pieslice((x, hem - 34, x + width - 1, hem + 34), 0, 180, fill=colour)
