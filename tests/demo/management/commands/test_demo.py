"""The whole demo, as `script/demo` runs it."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from demo.families import DEMO_CHAINS
from gateway.processes.stack import ROOT
from tests.demo.lending import READY, Demos
from tests.demo.running import Running, ask, demo_pay, environment_for, manage, var_folder
from tests.demo.running import running as running_demo
from tests.demo.shop.client import Client
from tests.guides import Program, run, running
from tests.processes import Gone, descendants
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.x402.exact.published import bought_by_npm

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]

PAID_SECONDS = PATIENCE_SECONDS


def settings_of(demo: Running) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((demo.var / "demo.json").read_text())
    return document


def demo_programs(page: str) -> list[Program]:
    """The shell blocks of a page that need a running demo."""
    return [each for each in running(page, "sh") if "manage.py demo_" in each.code]


@pytest.fixture
def demo(demos: Demos) -> Running:
    return demos.lend()


@pytest.fixture
def var() -> Iterator[Path]:
    with var_folder() as folder:
        yield folder


def first_block(settings: dict[str, Any]) -> Any:
    """The hash of a block that only a kept chain has again."""
    question = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber"}
    url = settings["chains"]["base"]["rpc_url"]
    answer = ask(url, "POST", "/", body=question | {"params": ["0x1", False]})[1]
    return answer["result"]["hash"]


def unread(settings: dict[str, Any]) -> list[str]:
    """The chains that cannot be paid on."""
    status, chains = ask(settings["base_url"], "GET", "/api/v1/chains")
    # The demo itself may have asked as often as an address may.
    if status != 200:
        return ["unknown"]
    return [chain["chain"] for chain in chains["data"] if chain["status"] != "ok"]


def received(settings: dict[str, Any]) -> str:
    return str(ask(settings["shop_url"], "GET", "/received")[1])


def test_commands_work_on_the_running_demo_once_the_shell_has_its_settings(demo: Running) -> None:
    settings_file = demo.var / "demo.env"
    assert settings_file.stat().st_mode & 0o077 == 0
    done = subprocess.run(
        ["sh", "-c", '. "$0" && exec "$1" manage.py chains --json', settings_file, sys.executable],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert {chain["chain"] for chain in told} == {facts.name for facts in DEMO_CHAINS}


@pytest.mark.parametrize(
    "program", [*running("docs/guide/demo.md"), *demo_programs("docs/guide/x402-clients.md")], ids=str
)
def test_the_commands_of_the_guides_work_on_the_running_demo(demo: Running, tmp_path: Path, program: Program) -> None:
    code = program.code.replace("http://127.0.0.1:8003/x402/report", settings_of(demo)["report_url"])
    code = code.replace("var/demo.env", str(demo.var / "demo.env"))
    code = code.replace(".venv/bin/python manage.py", f"{sys.executable} {ROOT}/manage.py")
    ours = environment_for(demo.var)
    settings = {name: ours[name] for name in ("FLORIN_VAR", "FLORIN_ENV")}
    assert run(replace(program, code=code), tmp_path, settings)


def test_everything_printed_is_in_the_settings_file_for_its_owner_alone(demo: Running) -> None:
    settings = settings_of(demo)
    assert (demo.var / "demo.json").stat().st_mode & 0o077 == 0
    names = ("base_url", "shop_url", "live_key", "test_key", "webhook_secret")
    for name in (*names, "owner_email", "owner_password"):
        assert settings[name] in demo.output
    assert set(settings["chains"]) == {facts.name for facts in DEMO_CHAINS}
    for facts in DEMO_CHAINS:
        chain = settings["chains"][facts.name]
        assert chain["kind"] == facts.family.name
        assert chain["chain_id"] == facts.mainnet.chain_id
        assert tuple(chain["tokens"]) == facts.symbols
        assert chain["rpc_url"] in demo.output
        assert f"demo_pay CHECKOUT_ID --chain {facts.name}" in demo.output
    assert settings["chains"]["base"]["funded_private_key"] in demo.output


@pytest.mark.parametrize("chain", ["polygon", "solana"])
def test_an_order_is_paid_by_the_button_of_a_chain_and_the_shop_hears_of_it(demo: Running, chain: str) -> None:
    settings, shop = settings_of(demo), Client(demo.port + 1)
    number, page = order(shop, "postcard")
    assert page.count('name="chain" value="') == len(DEMO_CHAINS)
    # The first one is of the order; webhooks of others follow.
    checkout_id = re.findall("chk_live_[a-z0-9]+", page)[0]
    status, paid = shop.submit("/pay-order", order=number, chain=chain)
    assert (status, "Sent in transaction" in paid) == (200, True), paid
    wait_until(lambda: checkout_id in received(settings), seconds=PAID_SECONDS)
    assert "checkout.completed" in received(settings)
    assert "forged" not in received(settings)
    button = f'name="number" value="{number}"'
    wait_until(lambda: button in shop.ask("GET", "/")[1], seconds=PAID_SECONDS)
    status, asked = shop.submit("/refund-order", number=number)
    assert (status, f'href="{settings["base_url"]}/r/' in asked) == (200, True), asked
    # Who pays again is not stopped, and told.
    again = demo_pay(demo, checkout_id, "--chain", chain)
    assert again.returncode == 0
    assert "takes no payment" in again.stderr
    assert re.fullmatch(r"\w{64,90}\n", again.stdout)


def order(shop: Client, sku: str) -> tuple[str, str]:
    """Buy something; return the order's number and the shop's page that says how to pay it."""
    address, _ = shop.follow("/buy", sku=sku)
    page = shop.ask("GET", "/")[1]
    assert f'href="{address}"' in page
    [number] = re.findall(r'name="order" value="([^"]+)"', page)
    return number, page


def test_buying_in_the_shop_makes_a_checkout_of_that_price(demo: Running) -> None:
    settings = settings_of(demo)
    _, page = order(Client(demo.port + 1), "coffee")
    base, key = settings["base_url"], settings["live_key"]
    listed = ask(base, "GET", "/api/v1/checkouts", key=key)[1]["data"]
    [bought] = [c for c in listed if c["description"] == "Coffee beans"]
    assert bought["amount"] == "18.50"
    assert f'href="{base}/' in page
    assert bought["id"] in page


def test_a_machine_pays_for_the_report_and_gets_a_receipt(demo: Running) -> None:
    settings = settings_of(demo)
    url = settings["report_url"]
    assert url in ask(settings["shop_url"], "GET", "/")[1]
    base, _, path = url.rpartition("/x402/")
    assert ask(base, "GET", f"/x402/{path}")[0] == 402
    done = manage(demo, "demo_x402", "--chain", "base")
    assert done.returncode == 0, done.stderr
    receipt = json.loads(done.stdout.rpartition("Receipt")[2])
    key = settings["live_key"]
    listed = ask(settings["base_url"], "GET", "/api/v1/x402/payments", key=key)[1]
    [payment] = [one for one in listed["data"] if one["id"] == receipt["paymentId"]]
    assert (payment["chain"], payment["amount"]) == ("base", "0.010000")
    assert (payment["resource"], payment["signed"]) == ("/x402/report", True)


@pytest.mark.parametrize(
    ("chain", "package"), [("base", "@x402/fetch"), ("base", "x402-fetch"), ("solana", "@x402/fetch")]
)
def test_a_published_client_pays_for_the_report(demo: Running, chain: str, package: str) -> None:
    settings = settings_of(demo)
    entry = settings["chains"][chain]
    page = bought_by_npm(
        settings["report_url"].removesuffix("/report"),
        entry["funded_private_key"],
        package,
        solana_node=entry["node_url"] if chain == "solana" else "",
    )
    assert page["by"] == entry["funded_address"]
    url = f"/api/v1/x402/payments?chain={chain}"
    listed = ask(settings["base_url"], "GET", url, key=settings["live_key"])[1]
    [payment] = [one for one in listed["data"] if one["id"] == page["payment"]]
    assert payment["payerAddress"] == entry["funded_address"]
    assert payment["protocol"] == "exact"


def test_an_order_the_shop_does_not_know_is_not_paid(demo: Running) -> None:
    shop = Client(demo.port + 1)
    status, page = shop.submit("/pay-order", order="demo-1-1", chain="base")
    assert (status, "does not know this order" in page) == (400, True)


def test_a_test_checkout_pays_itself(demo: Running) -> None:
    settings = settings_of(demo)
    base, key = settings["base_url"], settings["test_key"]
    # In test mode receipts go to the team alone.
    member = settings["owner_email"]
    wanted = {"amount": "25.00", "currency": "USD", "customer_email": member}
    _, checkout = ask(base, "POST", "/api/v1/checkouts", key=key, body=wanted)
    wait_until(lambda: checkout["id"] in received(settings), seconds=PAID_SECONDS)
    worker = demo.var / "log" / "worker.log"
    begin = checkout["id"].removeprefix("chk_test_")[:10].upper()
    wait_until(lambda: f"Receipt number: {begin[:5]}-{begin[5:]}" in worker.read_text())
    assert f"To: {member}" in worker.read_text()


def test_a_price_in_euros_can_be_tried_at_once(demo: Running) -> None:
    settings = settings_of(demo)
    base, key = settings["base_url"], settings["live_key"]
    rates = {one["currency"]: one["usd_rate"] for one in ask(base, "GET", "/api/v1/currencies")[1]["data"]}
    assert rates == {"USD": "1.000000", "EUR": "1.090000", "GBP": "1.270000", "JPY": "0.006700"}
    status, made = ask(base, "POST", "/api/v1/checkouts", key=key, body={"amount": "23.00", "currency": "EUR"})
    assert (status, made["amount"], made["currency"], made["quote"]["usd_amount"]) == (201, "23.00", "EUR", "25.07")
    assert [one["name"] for one in made["quote"]["sources"]] == ["fixed"]
    assert demo_pay(demo, made["id"], "--chain", "base").returncode == 0
    # The shop's webhook tells, because the API counts how often it is asked.
    wait_until(lambda: made["id"] in received(settings), seconds=PAID_SECONDS)
    _, told = ask(base, "GET", f"/api/v1/checkouts/{made['id']}", key=key)
    assert (told["status"], told["amount_received"], told["quote"]) == ("completed", "25.070000", made["quote"])


def test_a_second_demo_on_the_same_folder_says_that_one_runs(demo: Running) -> None:
    with running_demo(demo.var, "demo", "--no-chain") as second:
        assert second.process.wait(PATIENCE_SECONDS) == 1
        assert "another supervisor runs" in second.output
    assert ask(settings_of(demo)["base_url"], "GET", "/healthz")[0] == 200


def test_a_taken_port_is_said_before_anything_starts(demo: Running, var: Path) -> None:
    taken = str(demo.port)
    with running_demo(var, "demo", "--port", taken) as second:
        assert second.process.wait(PATIENCE_SECONDS) == 1
        assert f"Port {taken} is taken" in second.output
    assert not (var / "engines").exists()


def test_a_restart_keeps_keys_and_chains_and_ctrl_c_leaves_nothing(demos: Demos) -> None:
    first = demos.lend()
    before = settings_of(first)
    block = first_block(before)
    started = descendants(first.process.pid)
    assert len(started) > 10
    assert first.end(signal.SIGINT) == 0
    gone = Gone(started)
    assert gone(), gone
    after = settings_of(demos.start_again(first))
    for name in ("live_key", "test_key", "webhook_secret", "owner_password"):
        assert after[name] == before[name]
    assert first_block(after) == block
    # Those that are new at each start as well.
    wait_until(lambda: unread(after) == [], seconds=PAID_SECONDS, pause=2)
    status, _ = ask(after["base_url"], "GET", "/api/v1/checkouts", key=after["live_key"])
    assert status == 200


@pytest.mark.unmeasured
def test_without_chains_the_demo_sells_in_test_mode(var: Path) -> None:
    with running_demo(var, "demo", "--no-chain") as demo:
        demo.await_line(READY)
        settings = settings_of(demo)
        assert settings["chains"] == {}
        assert not [c for c in descendants(demo.process.pid).values() if "anvil" in c]
        page = ask(settings["shop_url"], "GET", "/")[1]
        assert "made with the test key" in page


@pytest.mark.faults
def test_a_killed_service_comes_back_and_a_killed_command_leaves_nothing(var: Path) -> None:
    with running_demo(var, "up") as up:
        up.await_line("Florin answers")
        base = f"http://127.0.0.1:{up.port}"
        web = [one for one, line in descendants(up.process.pid).items() if "gateway.rsgi" in line]
        # The one that the others are children of.
        next(one for one in web if one.ppid() == up.process.pid).kill()
        up.await_line("web ended (signal 9)")
        # Its workers, too: they would go on serving an old start, beside the new one.
        wait_until(Gone(web))

        def answers() -> bool:
            try:
                return ask(base, "GET", "/healthz")[0] == 200
            except OSError:
                return False

        wait_until(answers)
        started = descendants(up.process.pid)
        up.process.kill()
        up.process.wait()
        wait_until(Gone(started))
