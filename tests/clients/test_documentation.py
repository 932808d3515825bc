"""The programs of the guide to selling and of the package's page sell and pay.

The page's first two, the settings of a seller, are proved in clients/python/tests.
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from localnet.anvil import Anvil
from localnet.funding import payer
from tests.demo.running import two_free_ports
from tests.guides import RUNNERS, Program, run, running, started
from tests.tree import ROOT
from tests.waiting import wait_until
from tests.x402.exact.shop import connect_base, open_shop
from x402.models import X402Payment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

GUIDE = "docs/guide/x402-clients.md"
PAGE = "clients/python/README.md"
SELLERS = [each for each in running(GUIDE, "js", "python") if "PAYER_KEY" not in each.code]
[PAYER] = [each for each in running(GUIDE, "js") if "PAYER_KEY" in each.code]
[*_, HASH_PAYER] = running(PAGE, "python")


@pytest.fixture
def settings_of_seller(base_node: Anvil, settings: Any, live_server: LiveServer) -> dict[str, str]:
    """What a seller's shell has set, beside a gateway that settles on the local Base."""
    connect_base(settings, base_node)
    return {"BASE_URL": live_server.url, "LIVE_KEY": open_shop().key or ""}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which Node.js finds the published packages."""
    (tmp_path / "node_modules").symlink_to(ROOT / "node_modules")
    return tmp_path


@pytest.fixture
def mining(base_node: Anvil) -> Iterator[None]:
    """Blocks while a payment waits, as the demo makes them."""
    ended = threading.Event()

    def mine() -> None:
        while not ended.wait(0.5):
            base_node.mine(1)

    miner = threading.Thread(target=mine)
    miner.start()
    yield
    ended.set()
    miner.join()


@pytest.mark.parametrize("seller", SELLERS, ids=str)
def test_a_seller_of_the_guide_is_paid_by_its_payer(
    seller: Program, folder: Path, settings_of_seller: dict[str, str], base_node: Anvil
) -> None:
    port = str(two_free_ports())
    command, name = RUNNERS[seller.language]
    (folder / name).write_text(seller.code)
    selling = settings_of_seller | {"PORT": port, "PYTHONPATH": python_path()}
    with started([*command, name], folder, selling) as output:
        wait_until(lambda: "$0.01" in output.read_text(), seconds=60)
        (folder / "payer").mkdir()
        (folder / "payer" / "node_modules").symlink_to(ROOT / "node_modules")
        paying = {"PAYER_KEY": payer(base_node).key, "REPORT_URL": f"http://127.0.0.1:{port}/report"}
        assert run(PAYER, folder / "payer", paying) == '200 {"ships":3}\n'.replace(
            '":3', '": 3' if seller.language == "python" else '":3'
        )
    assert X402Payment.objects.get().units == 10_000


@pytest.mark.usefixtures("mining")
def test_the_payer_of_the_packages_page_pays_by_hash(
    folder: Path, settings_of_seller: dict[str, str], base_node: Anvil
) -> None:
    [seller] = [each for each in SELLERS if each.language == "python"]
    port = str(two_free_ports())
    (folder / "example.py").write_text(seller.code)
    python = settings_of_seller | {"PORT": port, "PYTHONPATH": python_path()}
    with started([*RUNNERS["python"][0], "example.py"], folder, python) as output:
        wait_until(lambda: "$0.01" in output.read_text(), seconds=60)
        (folder / "payer").mkdir()
        paying = {
            "PAYER_KEY": payer(base_node).key,
            "RPC_URL": base_node.url,
            "REPORT_URL": f"http://127.0.0.1:{port}/report",
            "PYTHONPATH": python_path(),
        }
        assert run(HASH_PAYER, folder / "payer", paying) == '200 {"ships": 3}\n'
    assert X402Payment.objects.get().protocol == "hash"


def python_path() -> str:
    """Where the package is."""
    return str(ROOT / "clients" / "python" / "src")
