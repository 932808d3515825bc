"""`manage.py demo`: the whole service with a shop and chains to pay on."""

import json
import os
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from demo.chains import LocalChains
from demo.machines.report_price import CHAIN as REPORT_CHAIN
from demo.machines.report_price import PATH as REPORT_PATH
from demo.nodes.base import LocalChain
from demo.nodes.solana_accounts import NETWORK_PAYER_KEY
from demo.settings_file import Credentials, DemoSettings, write_environment
from gateway.core.embedded import EnginesError
from gateway.core.embedded.processes import ChildCommand as Program
from gateway.processes.stack import HOST, MANAGE, Stack, StackError, free_port, require_free_port, until_signalled
from localnet.errors import NodeMissingError, NodeStartError
from wallets.chains.registry import CHAINS, family_called

# The paid API's port is the one after the stream server's.
REPORT_PORT = 3
# The nodes' ports come after the shop's, with a gap.
FIRST_NODE_PORT = 10
FRONT_SETTINGS = "demo.front.settings"
TITLES = {facts.name: facts.title for facts in CHAINS}
NO_NODE = (
    "No local chains: they need Node.js 18 or later, and npm ci run once. The demo"
    " continues in test mode, where checkouts are paid automatically."
)
SET_ASIDE = (
    "The existing data belongs to another release of Florin. It is kept as the database {} of the same PostgreSQL. The"
    " demo starts with an empty database."
)


class DemoStack(Stack):
    """Florin's processes. The web process also serves the demo's first page and its filled-in login page."""

    def _web(self) -> Program:
        environment = self.environment | {"DJANGO_SETTINGS_MODULE": FRONT_SETTINGS}
        return replace(super()._web(), env=environment)


class Command(BaseCommand):
    """Runs the demo until Ctrl-C or SIGTERM, then stops what it started."""

    help = "Run Florin with a demo merchant, a shop on the next port, and local chains."
    requires_system_checks: list[str] = []
    stack: type[Stack] = DemoStack

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--no-chain", action="store_true", help="test mode only, no local chains")

    def handle(self, *args: Any, port: int, no_chain: bool, **options: Any) -> None:
        """Start everything, print addresses and keys, wait for the signal."""
        try:
            with until_signalled():
                self._run(settings.VAR_DIR, port, with_chains=not no_chain)
        except (EnginesError, StackError, NodeStartError) as error:
            raise CommandError(str(error)) from error
        self._say("Stopped.")

    def _run(self, var: Path, port: int, *, with_chains: bool) -> None:
        for needed in (port, port + 1):
            require_free_port(needed)
        with self.stack(var=var, port=port, say=self._say, environment=DEVELOPMENT) as stack:
            forget_real_chains(stack.environment)
            nodes = self.start_nodes(stack) if with_chains else None
            has_own_engines = stack.start_engines()
            chains = nodes.prepare() if nodes else []
            stack.environment.update(chain_environment(chains))
            demo = self._seed(stack, chains, has_own_engines=has_own_engines)
            self._start_services(stack, demo)
            self._say(sheet(demo, var))
            signal.pause()

    def start_nodes(self, stack: Stack) -> LocalChains | None:
        """Start the local chains, or report why there are none."""
        first = stack.port + FIRST_NODE_PORT
        try:
            nodes = LocalChains(stack.var / "chains", port=lambda n: free_port(first + n))
        except NodeMissingError:
            self._say(NO_NODE)
            return None
        self._say(f"Starting local chains: {_titles(node.name for node in nodes.nodes)}.")
        miner = stack.command("miner", sys.executable, "-m", "demo.nodes.miner", *nodes.mined_urls())
        stack.keep([*nodes.commands(stack.command), miner])
        return nodes

    def _seed(self, stack: Stack, chains: list[LocalChain], *, has_own_engines: bool) -> DemoSettings:
        self._say("Bringing the database up to date.")
        path = stack.var / "demo.json"
        shop_url = f"http://{HOST}:{stack.port + 1}"
        argv = [*MANAGE, "seed_demo", str(path), f"{shop_url}/webhook"]
        if has_own_engines:
            argv.append("--own-engines")
        told = json.loads(stack.run("seed_demo", argv))
        if told["kept_as"]:
            self._say(SET_ASIDE.format(told["kept_as"]))
        credentials = Credentials(**told["credentials"])
        entries = {chain.name: chain.as_json() for chain in chains}
        report_url = self._report_url(stack) if REPORT_CHAIN in entries else ""
        demo = DemoSettings(stack.base_url, shop_url, credentials, entries, report_url)
        demo.write(path)
        write_environment(stack.var / "demo.env", stack.environment)
        return demo

    def _report_url(self, stack: Stack) -> str:
        return f"http://{HOST}:{free_port(stack.port + REPORT_PORT)}{REPORT_PATH}"

    def _start_services(self, stack: Stack, demo: DemoSettings) -> None:
        services = {
            "shop": ("demo.shop.server", stack.port + 1),
            "report": ("demo.machines.report", urlsplit(demo.report_url).port),
        }
        stack.start_services(
            *(
                stack.command(name, *(sys.executable, "-m", module), *(str(port), str(stack.var / "demo.json")))
                for name, (module, port) in services.items()
                if port
            )
        )
        if not stack.await_chains(demo.chains.keys()):
            self._say(f"The chains are slow to be read; see {stack.log('watchers')}.")

    def _say(self, line: str) -> None:
        # The process reading our output may have ended; the demo continues.
        with suppress(OSError):
            self.stdout.write(line)
            self.stdout.flush()


DEVELOPMENT: Mapping[str, str] = {
    "FLORIN_ENV": "development",
    "CHAIN_NETWORK": "local",
    # The shop that receives the webhooks runs on this machine.
    "WEBHOOK_ALLOW_LOOPBACK": "true",
    # A pre-funded account of the local nodes with a publicly known key; it must never be used on real chains.
    "GAS_KEYS": "0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",  # nosec B105
    "GAS_KEYS_SOLANA": NETWORK_PAYER_KEY,
    # Buyers pay no network fee where their wallet signs a transfer.
    "GAS_FREE": "base,polygon,solana",
    # The demo's operator charges merchants, so that plans and statements can be seen.
    "CHARGE_FEES": "true",
    # Prices in other currencies can be tried at once, and no server is asked for rates. Pages say that no
    # second source confirmed them.
    "PRICE_CURRENCIES": "EUR,GBP,JPY",
    "RATE_SOURCES": "fixed:EUR=1.09;GBP=1.27;JPY=0.0067",
    "RATE_SINGLE_SOURCE": "true",
    "DEPEG_GUARD": "false",
    # Local gas costs a thousand times the public networks' price.
    "GAS_COIN_USD": "base=0.1,polygon=0.1,ethereum=0.1",
}


def forget_real_chains(environment: dict[str, str]) -> None:
    """Remove chain settings inherited from the environment, so that the demo never uses real chains."""
    real = {name for name in environment if name.startswith("CHAIN_")}
    for name in real - DEVELOPMENT.keys():
        del environment[name]


def chain_environment(chains: list[LocalChain]) -> dict[str, str]:
    """Return the settings that point the gateway at these chains."""
    environment = {}
    for chain in chains:
        prefix = f"CHAIN_{chain.name.upper()}"
        environment[f"{prefix}_RPC_URLS"] = chain.rpc_url
        # Each chain has only one node, so there is no second one to confirm its answers. It has no request limits.
        environment[f"{prefix}_LARGE_AMOUNT_USD"] = "0"
        environment[f"{prefix}_REQUESTS_PER_MINUTE"] = "6000"
        if chain.ws_url:
            environment[f"{prefix}_WS_URL"] = chain.ws_url
        if chain.grid_url:
            environment[f"{prefix}_GRID_URLS"] = chain.grid_url
        for symbol, address in chain.tokens.items():
            environment[f"{prefix}_TOKEN_{symbol}"] = address
    return environment


def sheet(demo: DemoSettings, var: Path) -> str:
    """Return the instructions for using the demo."""
    known = demo.credentials
    key = known.live_key if demo.chains else known.test_key
    lines = [
        "",
        "Florin is ready. Ctrl-C stops it.",
        "",
        f"  Start at   {demo.base_url}/",
        "",
        f"  Shop       {demo.shop_url}",
        f"  API        {demo.base_url}/api/v1",
        f"  Dashboard  {demo.base_url}/dashboard/",
        f"  Login      {known.owner_email}  {known.owner_password}",
        f"  Live key   {known.live_key}",
        f"  Test key   {known.test_key}",
        f"  Webhooks   {known.webhook_secret}",
        *(f"  {line}" for line in _chain_lines(demo)),
        f"  As JSON    {var / 'demo.json'}",
        "",
        f"  curl {demo.base_url}/api/v1/checkouts \\",
        f'    -H "Authorization: Bearer {key}" -H "Content-Type: application/json" \\',
        """    -d '{"amount": "25.00", "currency": "USD"}'""",
        "",
        *(f"  {line}" for line in _payment_lines(demo)),
    ]
    return "\n".join(line.rstrip() for line in lines)


def _chain_lines(demo: DemoSettings) -> list[str]:
    lines = [
        f"{TITLES[name]:<10} {chain['rpc_url']} ({', '.join(chain['tokens'])})" for name, chain in demo.chains.items()
    ]
    payers = {
        chain["funded_private_key"] for chain in demo.chains.values() if family_called(chain["kind"]).has_forwarders
    }
    known = "(a public test key: play money only)"
    return [*lines, *(f"{'Payer':<10} {payer} {known}" for payer in payers)]


def _payment_lines(demo: DemoSettings) -> list[str]:
    if not demo.chains:
        return []
    pay = f"{os.path.relpath(sys.executable)} manage.py demo_pay CHECKOUT_ID --chain"
    commands = [f"  {pay} {name}" for name in demo.chains]
    lines = ["Pay its checkout with play money:", "", *commands, ""]
    machines = f"  {os.path.relpath(sys.executable)} manage.py demo_x402"
    return [*lines, f"Pay for {demo.report_url} as a machine:", "", machines, ""]


def _titles(names: Iterable[str]) -> str:
    return ", ".join(TITLES[name] for name in names)
