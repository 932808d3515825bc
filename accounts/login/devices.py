"""What a browser says of itself, for people: `Chrome on Linux`. It names passkeys and sessions, and decides nothing."""

from collections.abc import Iterable
from typing import Final

# In this order: most browsers name others as well, which came before them.
_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Version/", "Safari"),
)
_SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
)
_UNNAMED: Final = "Passkey"


def device_name(user_agent: str) -> str:
    """Return browser and system, as `Chrome on Linux`; one of them if the other is unknown, "" if both are."""
    browser, system = _named(user_agent, _BROWSERS), _named(user_agent, _SYSTEMS)
    return f"{browser} on {system}" if browser and system else browser or system


def _named(user_agent: str, names: Iterable[tuple[str, str]]) -> str:
    return next((name for mark, name in names if mark in user_agent), "")


def passkey_name(user_agent: str, taken: Iterable[str]) -> str:
    """Return a name for a new passkey of this browser, which is none of those `taken`: `Chrome on Linux 2`."""
    name, known = device_name(user_agent) or _UNNAMED, set(taken)
    number = 1
    while (numbered := name if number == 1 else f"{name} {number}") in known:
        number += 1
    return numbered
