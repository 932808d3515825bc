"""Browsers and systems have the names that people know."""

import pytest

from accounts.login.devices import device_name, passkey_name

MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/"
WINDOWS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
)
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
PHONE = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (f"{MAC}605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15", "Safari on macOS"),
        (f"{MAC}537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36", "Chrome on macOS"),
        (WINDOWS, "Chrome on Windows"),
        (f"{WINDOWS} Edg/131.0.0.0", "Edge on Windows"),
        (f"{WINDOWS} OPR/116.0.0.0", "Opera on Windows"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0", "Firefox on Linux"),
        (f"{IPHONE} Version/18.1 Mobile/15E148 Safari/604.1", "Safari on iPhone"),
        (f"{IPHONE} CriOS/131.0.6778.73 Mobile/15E148 Safari/604.1", "Chrome on iPhone"),
        (f"{IPHONE} FxiOS/133.0 Mobile/15E148 Safari/605.1.15", "Firefox on iPhone"),
        (f"{PHONE} Chrome/131.0.0.0 Mobile Safari/537.36", "Chrome on Android"),
        (f"{PHONE} SamsungBrowser/27.0 Chrome/125.0.0.0 Mobile Safari/537.36", "Samsung Internet on Android"),
        (
            "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 Chrome/131.0.0.0 Safari/537.36",
            "Chrome on ChromeOS",
        ),
        ("SomethingElse/1.0 (Linux)", "Linux"),
        ("curl/8.5.0", ""),
        ("", ""),
    ],
)
def test_a_browser_is_named(user_agent: str, name: str) -> None:
    assert device_name(user_agent) == name


def test_a_passkeys_name_is_not_taken_and_never_empty() -> None:
    assert passkey_name(WINDOWS, []) == "Chrome on Windows"
    assert passkey_name(WINDOWS, ["Chrome on Windows", "Chrome on Windows 2"]) == "Chrome on Windows 3"
    assert passkey_name("", ["Passkey"]) == "Passkey 2"
