"""var/demo.json: the demo's addresses and credentials, for people and programs."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gateway.core.embedded.layout import write_private


@dataclass(frozen=True)
class Credentials:
    """What the demo merchant logs in and signs with; kept between starts."""

    owner_email: str
    owner_password: str = field(repr=False)
    live_key: str = field(repr=False)
    test_key: str = field(repr=False)
    webhook_secret: str = field(repr=False)


@dataclass(frozen=True)
class DemoSettings:
    """All of var/demo.json. `chains` is empty when no local chain runs.

    `report_url` is what machines pay for, empty without chains. `network` says that these are local chains, the only ones in the demo.
    """

    base_url: str
    shop_url: str
    credentials: Credentials
    chains: dict[str, dict[str, Any]]
    report_url: str = ""
    network: str = "local"

    def write(self, path: Path) -> None:
        """Replace the file by one that only its owner can read."""
        urls = {"base_url": self.base_url, "shop_url": self.shop_url}
        urls["report_url"] = self.report_url
        chains = {"network": self.network, "chains": self.chains}
        document = urls | asdict(self.credentials) | chains
        write_private(path, json.dumps(document, indent=2) + "\n")


def write_environment(path: Path, environment: Mapping[str, str]) -> None:
    """Write what `manage.py` needs to work on the running demo, for a shell to read; only its owner can."""
    ours = {name for name in environment if name.startswith("CHAIN_")} | _NEEDED
    lines = [f"export {name}={shlex.quote(environment[name])}\n" for name in sorted(ours & environment.keys())]
    write_private(path, "".join(lines))


_NEEDED = {
    "BASE_URL",
    "DATABASE_URL",
    "ENCRYPTION_KEYS",
    "FLORIN_ENV",
    "FLORIN_VAR",
    "PRICE_CURRENCIES",
    "RATE_SINGLE_SOURCE",
    "RATE_SOURCES",
    "REDIS_URL",
    "SECRET_KEY",
    "WEBHOOK_ALLOW_LOOPBACK",
}


def read_settings(path: Path) -> DemoSettings:
    """Read what `write` wrote. Raises FileNotFoundError before the first demo."""
    document = json.loads(path.read_text())
    return DemoSettings(
        base_url=document["base_url"],
        shop_url=document["shop_url"],
        credentials=_credentials(document),
        chains=document["chains"],
        report_url=document["report_url"],
        network=document["network"],
    )


def kept_credentials(path: Path) -> Credentials | None:
    """The credentials of the last start, if there was one."""
    if not path.exists():
        return None
    return _credentials(json.loads(path.read_text()))


def _credentials(document: dict[str, Any]) -> Credentials:
    names = Credentials.__dataclass_fields__
    return Credentials(**{name: document[name] for name in names})
