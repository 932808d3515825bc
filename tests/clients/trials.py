"""Published clients that buy a page, and what became of each: in the words of docs/guide/x402-compatibility.md."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from tests.tree import ROOT
from tests.x402.exact.environment import foreign_python
from tests.x402.exact.middlewares.shops import MIDDLEWARES, standing
from tests.x402.exact.sellers import SECRET, Shop
from x402.models import X402Payment

GUIDE: Final = "docs/guide/x402-compatibility.md"
SECONDS: Final = 60
UNREADABLE: Final = "no price that it reads"
UNKNOWN: Final = "unknown token"

_EXACT: Final = ROOT / "tests" / "x402" / "exact"
_MPP_PAID: Final = "paid, MPP"

Answers = list[tuple[int, Mapping[str, Any]]]
"""What the facilitator was asked by signature: the standard's version of each question, and its answer."""


class Got(NamedTuple):
    """What a client got: the page, or else what it says of it. `is_mpp`: with a receipt of MPP."""

    page: Any
    error: str
    is_mpp: bool = False


@dataclass(frozen=True)
class Client:
    """A published client: its row in the tables, how it buys at an address, and what it says where it pays nothing."""

    row: str
    buy: Callable[[str, Mapping[str, str]], Got]
    refusals: Mapping[str, str]


def _ran(command: Sequence[str], settings: Mapping[str, str]) -> tuple[str, str]:
    """What a program printed, and its complaint if it failed."""
    told = subprocess.run(
        command, env=os.environ | dict(settings), capture_output=True, text=True, timeout=SECONDS, cwd=ROOT, check=False
    )
    return told.stdout, "" if told.returncode == 0 else told.stderr or "It failed without a word."


def _by_x402(command: Sequence[str], settings: Mapping[str, str]) -> Got:
    page, error = _ran(command, settings)
    return Got(None, error) if error else Got(json.loads(page), "")


def _npm(package: str) -> Callable[[str, Mapping[str, str]], Got]:
    def buy(url: str, settings: Mapping[str, str]) -> Got:
        # The order of the program's arguments: what is allowed stands last.
        allowed = settings.get("ALLOWED", "").split()
        command = ["node", str(_EXACT / "pay.mjs"), package, f"{url}/report", *allowed]
        return _by_x402(command, {"FIRST_VERSION": "1", **settings})

    return buy


def _pypi(client: str) -> Callable[[str, Mapping[str, str]], Got]:
    def buy(url: str, settings: Mapping[str, str]) -> Got:
        command = [foreign_python(), str(_EXACT / "foreign" / "payer.py"), f"{url}/report"]
        return _by_x402(command, {"CLIENT": client, **settings})

    return buy


def _mpp(command: Callable[[], Sequence[str]]) -> Callable[[str, Mapping[str, str]], Got]:
    def buy(url: str, settings: Mapping[str, str]) -> Got:
        printed, error = _ran([*command(), f"{url}/report"], settings)
        if error:
            return Got(None, error)
        told = json.loads(printed)
        if told["status"] != 200:
            return Got(None, f"status {told['status']}")
        return Got(json.loads(told["page"]), "", told["receipt"] is not None)

    return buy


CLIENTS: Final = {
    "x402-fetch": Client(
        "npm `x402-fetch`", _npm("x402-fetch"), {"TypeError": UNREADABLE, "Unsupported network": UNREADABLE}
    ),
    "@x402/fetch": Client("npm `@x402/fetch`", _npm("@x402/fetch"), {"only default assets": UNKNOWN}),
    "httpx": Client("PyPI `x402`, httpx", _pypi("httpx"), {"only default assets": UNKNOWN}),
    "requests": Client("PyPI `x402`, requests", _pypi("requests"), {"only default assets": UNKNOWN}),
    "mppx": Client(
        "npm `mppx`",
        _mpp(lambda: ["node", str(_EXACT / "pay_by_mpp.mjs")]),
        {"No method found for challenges": UNREADABLE},
    ),
    "pympp": Client(
        "PyPI `pympp`",
        _mpp(lambda: [foreign_python(), str(_EXACT / "foreign" / "pay_by_mpp.py")]),
        {"status 402": UNREADABLE},
    ),
}
"""Every published client that is installed. Those of MPP pay on Base alone."""

OF_X402: Final = ("x402-fetch", "@x402/fetch", "httpx", "requests")

GATES: Final = {"wsgi": "`florin_x402`, WSGI", "asgi": "`florin_x402`, ASGI", "django": "`florin_x402`, Django"}
SELLERS: Final = {
    "x402-express": "npm `x402-express`",
    "@x402/express": "npm `@x402/express`",
    "fastapi": "PyPI `x402`, FastAPI",
    "flask": "PyPI `x402`, Flask",
    **GATES,
}
"""Every middleware that is installed, and its column in the tables."""


@contextmanager
def gated(style: str, shop: Shop, *, chain: str = "", token: str = "") -> Iterator[str]:
    """Sell behind a gate of florin_x402, in a process of its own; yield where."""
    told = {"FACILITATOR_URL": shop.facilitator, "FACILITATOR_KEY": shop.key, "CHAIN": chain, "TOKEN": token}
    with subprocess.Popen(
        [sys.executable, "-m", "tests.clients.gated_shop", style],
        env=os.environ | told,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.communicate(timeout=SECONDS)


@contextmanager
def behind(middleware: str, shop: Shop, **told: Any) -> Iterator[str]:
    """Sell behind a published middleware; yield where. `told` is as for `standing`."""
    with standing(middleware, shop, **told) as stand:
        stand.release()
        yield stand.url


def sold_by(seller: str, shop: Shop) -> AbstractContextManager[str]:
    """Sell a page for a cent by one of SELLERS; yields where."""
    assert set(SELLERS) == {*MIDDLEWARES, *GATES}
    return gated(seller, shop) if seller in GATES else behind(seller, shop)


def tried(client: Client, url: str, answers: Answers, settings: Mapping[str, str]) -> str:
    """Let a client buy, and return what became of it. Fails for an outcome that has no word."""
    answers.clear()
    before = X402Payment.objects.count()
    got = client.buy(url, settings)
    paid = X402Payment.objects.count() - before
    if got.error:
        assert paid == 0, f"{client.row} was charged and not served: {got.error}"
        return f"refused: {_reason(client, got.error, answers)}"
    assert (got.page, paid) == (SECRET, 1), got
    version, settled = answers[-1]
    assert settled["success"] is True
    return _MPP_PAID if got.is_mpp else f"paid, v{version}"


def _reason(client: Client, error: str, answers: Answers) -> str:
    """The facilitator's reason if it was asked, else why the client paid nothing."""
    if answers:
        _, told = answers[-1]
        return str(told.get("invalidReason") or told.get("errorReason"))
    found = [words for needle, words in client.refusals.items() if needle in error]
    assert len(found) == 1, error
    return found[0]


def rows_under(heading: str) -> list[list[str]]:
    """The cells of the table below a heading of the guide, its head first."""
    text = (ROOT / GUIDE).read_text()
    _, _, section = text.partition(f"\n## {heading}\n")
    assert section, f"{GUIDE} has no heading {heading}"
    lines = [line for line in re.split(r"^## ", section, flags=re.MULTILINE)[0].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def column_of(heading: str, column: str) -> dict[str, str]:
    """A column of a table: its cells by the first one of their rows."""
    head, *rows = rows_under(heading)
    place = head.index(column)
    return {row[0]: row[place] for row in rows}


def row_of(heading: str, row: str) -> dict[str, str]:
    """A row of a table: its cells by the heads of their columns."""
    head, *rows = rows_under(heading)
    (found,) = [one for one in rows if one[0] == row]
    return dict(zip(head, found, strict=True))
