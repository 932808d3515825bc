"""Shops behind the standard's published middlewares, each in a process of its own."""

import base64
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.tree import ROOT
from tests.waiting import wait_until
from tests.x402.exact.environment import foreign_python
from tests.x402.exact.sellers import Shop

HERE = Path(__file__).parent
FOREIGN = HERE.parent / "foreign"
MIDDLEWARES = ("fastapi", "flask", "@x402/express", "x402-express")
SECONDS = 120

Sign = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True)
class Stand:
    """A shop that runs, and the standard's version that its middleware speaks."""

    url: str
    version: int

    def offer(self) -> Mapping[str, Any]:
        """The requirements of the one page that is sold."""
        (found,) = self._told({})["accepts"]
        return dict(found)

    def refusal(self, headers: Mapping[str, str]) -> str:
        """Ask for the page with a payment that is refused; return what the payer is told."""
        return str(self._told(headers)["error"])

    def _told(self, headers: Mapping[str, str]) -> Mapping[str, Any]:
        answer = httpx.get(f"{self.url}/report", headers=dict(headers), timeout=SECONDS)
        assert answer.status_code == 402, answer.text
        if self.version == 1:
            told: Mapping[str, Any] = answer.json()
        else:
            told = json.loads(base64.b64decode(answer.headers["PAYMENT-REQUIRED"]))
        return told

    def signed(self, sign: Sign) -> Mapping[str, str]:
        """The header of a payer who takes the offer; `sign` makes the payload of requirements."""
        wanted = self.offer()
        payload: dict[str, Any] = {"x402Version": self.version, "payload": sign(wanted)}
        if self.version == 1:
            payload |= {name: wanted[name] for name in ("scheme", "network")}
        else:
            payload |= {"accepted": wanted, "resource": {"url": f"{self.url}/report"}}
        header = base64.b64encode(json.dumps(payload).encode()).decode()
        return {"X-PAYMENT" if self.version == 1 else "PAYMENT-SIGNATURE": header}

    def begun(self) -> int:
        """How many requests reached the handler."""
        return int(httpx.get(f"{self.url}/begun", timeout=SECONDS).text)

    def release(self) -> None:
        """Let the handler answer, now and from now on."""
        httpx.post(f"{self.url}/release", timeout=SECONDS).raise_for_status()

    def buy(self, headers: Mapping[str, str]) -> int:
        """Ask for the page with a payment; return the status."""
        answer = httpx.get(f"{self.url}/report", headers=dict(headers), timeout=SECONDS)
        return answer.status_code

    def buy_in_waves(self, headers: Mapping[str, str], waves: Sequence[int]) -> Sequence[int]:
        """Send waves of so many copies of one payment, each once a slow handler serves all before it; return the statuses."""
        asked: list[Future[int]] = []
        with ThreadPoolExecutor(sum(waves)) as threads:
            for copies in waves:
                asked.extend(threads.submit(self.buy, headers) for _ in range(copies))
                wait_until(lambda: self._all_here(asked), seconds=SECONDS)
            served = self.begun()
            self.release()
            statuses = [one.result() for one in asked]
        # Nothing is settled before the handler answers, so no copy may be refused until then.
        assert served == len(asked), statuses
        return statuses

    def _all_here(self, asked: Sequence["Future[int]"]) -> bool:
        ended = sum(one.done() for one in asked)
        return self.begun() + ended >= len(asked)


@contextmanager
def standing(
    middleware: str, shop: Shop, *, amount: str = "", charged: str = "", sponsored: bool = False
) -> Iterator[Stand]:
    """Run a shop behind a middleware. `amount` is its price in base units, as it is configured.

    With `charged`, in base units, the price is a maximum, of which the handler settles so much (scheme `upto`). With `sponsored` the
    offer says that the token's own permit may come with a payment.
    """
    is_first = middleware == "x402-express"
    with subprocess.Popen(
        _command(middleware),
        env=os.environ
        | {
            "FACILITATOR_URL": shop.facilitator,
            "FACILITATOR_KEY": shop.key,
            "PAY_TO": shop.pay_to,
            "AMOUNT": amount,
            "SCHEME": "upto" if charged else "exact",
            "CHARGED": charged,
            "SPONSORED": "1" if sponsored else "",
            "ASSET": shop.asset,
            "NETWORK": shop.network if is_first else _CAIP[shop.network],
        },
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield Stand(f"http://127.0.0.1:{port}", 1 if is_first else 2)
        finally:
            process.communicate(timeout=SECONDS)


_CAIP = {"base": "eip155:8453", "solana": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"}


def _command(middleware: str) -> list[str]:
    if middleware in ("fastapi", "flask"):
        return [foreign_python(), str(FOREIGN / "shop.py"), middleware]
    return ["node", str(HERE / "npm_shop.mjs"), middleware]
