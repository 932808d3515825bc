"""What a page weighs on its way to the browser: its HTML, and the styles, scripts and pictures it asks for. No fonts."""

import re
from functools import cache
from pathlib import Path
from typing import Final

import brotli  # type: ignore[import-untyped]
from django.contrib.staticfiles import finders
from django.test import Client

from gateway.core.web.compact import compact_css, compact_js

MOST_BYTES: Final = 18 * 1024
MOST_BYTES_WITH_FONTS: Final = 60 * 1000
"""Of a buyer's first view, both fonts included."""

_COMPACT: Final = {".css": compact_css, ".js": compact_js}


def fonts_weight() -> int:
    """Return the bytes of the fonts. They are compressed as they are."""
    folder = Path(str(finders.find("fonts")))
    return sum(path.stat().st_size for path in folder.glob("*.woff2"))


def static_files_of(text: str) -> set[str]:
    """Every static file that a page's HTML and its modules' imports ask for."""
    return set(re.findall(r'(?:href|src)="/static/([^"#]+)', text))


def weights(client: Client, path: str) -> dict[str, int]:
    """Bytes on the wire of the page at a path and of each of its files, as production serves them to any browser now.

    A merchant's logo does not count: it is the merchant's own.
    """
    page = _answer(client, path)
    text = brotli.decompress(page).decode()
    names = static_files_of(text)
    files = {name: _served(name) for name in names if not name.endswith(".woff2")}
    brand = re.findall(r'href="(/brand/[^"]+\.css)"', text)
    generated = {name: len(_answer(client, name)) for name in brand}
    return {path: len(page)} | files | generated


def _answer(client: Client, path: str) -> bytes:
    answer = client.get(path, headers={"Accept-Encoding": "gzip, deflate, br"})
    assert (answer.status_code, answer["Content-Encoding"]) == (200, "br")
    return answer.content


@cache
def _served(name: str) -> int:
    path = Path(str(finders.find(name)))
    data = path.read_bytes()
    if compact := _COMPACT.get(path.suffix):
        data = compact(data.decode()).encode()
    # Collected ahead, so compressed as well as can be: that takes longer than to make a page.
    return len(brotli.compress(data))
