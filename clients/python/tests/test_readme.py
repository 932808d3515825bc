"""The settings in the package's README are sound, and protect an application."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from florin_x402 import Config

README = Path(__file__).parents[1] / "README.md"
DJANGO, ASGI, RECEIPTS, LISTING, *_ = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


def test_the_settings_of_the_readme_protect_an_application(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASE_URL", "https://pay.example")
    monkeypatch.setenv("LIVE_KEY", "sk_live_1")
    names: dict[str, Any] = {}
    exec(DJANGO, names)
    paywall = names["FLORIN_X402"]
    assert paywall.pop("cache") == "default"
    assert Config(**paywall).url == "https://pay.example/api/v1/x402"
    exec(ASGI, names)
    asked: list[str] = []

    async def app(scope: Any, _receive: Any, _send: Any) -> None:
        asked.append(scope["path"])

    for one in (RECEIPTS, LISTING):
        exec(one, names)
    config = Config(url="https://pay.example/api/v1/x402", key="sk_live_1", prices=names["prices"], **names["receipts"])
    assert config.receipts
    scope = {"type": "http", "method": "GET", "path": "/free", "headers": []}
    asyncio.run(names["protected"](app)(scope, None, None))
    assert asked == ["/free"]
