"""The example shop of clients/django-payments: django-payments in an environment of its own, both packages from their built wheels."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from gateway.processes.stack import port_is_free
from tests.clients.packages import CLIENTS, install_provider, run
from tests.demo.running import two_free_ports
from tests.guides import started
from tests.waiting import wait_until
from tests.x402.exact.environment import foreign_python

_EXAMPLE: Final = CLIENTS / "django-payments" / "example"
_SECONDS: Final = 60


@dataclass(frozen=True)
class Shop:
    """A running shop."""

    url: str
    folder: Path
    environment: Mapping[str, str]

    def order(self, variant: str = "florin") -> tuple[str, httpx.Response]:
        """Order as a browser does; return the order's token and what sends the buyer to pay."""
        with httpx.Client(base_url=self.url, timeout=_SECONDS) as buyer:
            page = buyer.get("/").text
            _, _, rest = page.partition('name="csrfmiddlewaretoken" value="')
            token, _, _ = rest.partition('"')
            made = buyer.post("/buy/", data={"variant": variant, "csrfmiddlewaretoken": token})
            assert made.status_code == 302, made.text
            order = made.headers["Location"].split("/")[2]
            return order, buyer.get(made.headers["Location"])

    def facts(self, order: str) -> Any:
        """What the shop knows of an order."""
        return httpx.get(f"{self.url}/orders/{order}/facts/", timeout=_SECONDS).json()

    def hook(self, order: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Send a webhook to an order's address; return the status of the answer."""
        return httpx.post(f"{self.hook_url(order)}", content=body, headers=headers, timeout=_SECONDS).status_code

    def hook_url(self, order: str) -> str:
        """Where webhooks and the buyer of an order arrive."""
        return f"{self.url}/payments/process/{order}/"

    def refund(self, order: str, *amount: str) -> subprocess.CompletedProcess[str]:
        """Refund an order, or an amount of it, by the shop's own command."""
        return subprocess.run(
            [foreign_python("shop"), "-m", "django", "refund", order, *amount],
            cwd=self.folder,
            env=dict(self.environment),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )


@contextmanager
def selling(folder: Path, florin: str, key: str, secret: str) -> Iterator[Shop]:
    """Install everything in an empty folder and run the shop, which sells through the Florin at `florin`."""
    installed, port = install_provider(folder), two_free_ports()
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "PYTHONPATH": f"{installed}:{_EXAMPLE}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "DJANGO_SETTINGS_MODULE": "shop.settings",
        "SHOP_URL": f"http://127.0.0.1:{port}",
        "SHOP_DATABASE": str(folder / "shop.sqlite3"),
        "FLORIN_URL": florin,
        "FLORIN_KEY": key,
        "FLORIN_SECRET": secret,
    }
    manage = [foreign_python("shop"), "-m", "django"]
    run([*manage, "migrate", "--run-syncdb", "--verbosity", "0"], folder, environment)
    with started([*manage, "runserver", "--noreload", f"127.0.0.1:{port}"], folder, environment) as output:
        # Its output is in the failure, if it never listens.
        wait_until(lambda: not port_is_free(port) or _ended(output), seconds=_SECONDS)
        yield Shop(environment["SHOP_URL"], folder, environment)


def _ended(output: Path) -> bool:
    assert "Traceback" not in output.read_text(), output.read_text()
    return False


def checkout(order: str, **changes: Any) -> dict[str, Any]:
    """What the API answers for the checkout of an order, in the fields that the provider reads."""
    told = {
        "id": "chk_test_1",
        "status": "pending",
        "exception": None,
        "amount": "25.00",
        "currency": "USD",
        "checkout_url": "https://pay.example/c/1",
        "references": {"order_ref": order, "customer_ref": None, "product_ref": None},
    }
    return told | changes


def event(checkout_id: str, *, livemode: bool = False, order: str = "") -> bytes:
    """The body of a webhook."""
    data = {"references": {"order_ref": order}} if order else {}
    return json.dumps({"id": "evt_1", "livemode": livemode, "checkout_id": checkout_id, "data": data}).encode()


def order_of(url: str) -> str:
    """The order of a page of the shop."""
    return urlsplit(url).path.split("/")[2]
