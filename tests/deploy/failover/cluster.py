"""A Florin on several machines: two for web and workers, two for PostgreSQL, one for Valkey and etcd's third vote, one proxy.

This process stands for the rest of the world: the chain's node, the receiver of webhooks, and the load.
"""

import http.client
import json
import os
import secrets
import shutil
import ssl
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Final, Self

from cryptography.fernet import Fernet
from psycopg.conninfo import make_conninfo

from demo.nodes.factory import prepare_chain
from gateway.core.embedded.account import EngineAccount, give, initdb_account
from gateway.core.embedded.engines import find_binaries
from gateway.processes.stack import CELERY, HOST, web_arguments
from localnet.anvil import Anvil
from localnet.tokens import token_address
from tests.clerks import Clerk
from tests.database import Database
from tests.deploy.failover.load import CHAIN
from tests.deploy.failover.machines import HERE, NETWORK, Machine, open_network
from tests.tree import ROOT
from tests.waiting import wait_until
from tests.webhooks.receiver import Receiver, receiving

PATRONI: Final = ROOT / "var" / "patroni"
_CHAIN_ID, _CONFIRMATIONS = 8453, 2
_KEYS: Final = 40
_WALLET: Final = "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720"
_NUMBERS: Final = {"front": 2, "web1": 11, "web2": 12, "db1": 21, "db2": 22, "aside": 31}
WEBS, DATABASES = ("web1", "web2"), ("db1", "db2")
_PATIENCE: Final = 120.0
# The node and the receiver listen at loopback, and in development webhooks go nowhere else: each web machine reaches them at
# its own.
_NODE, _HOOK = 8545, 9000
_WORLD: Final = """
defaults
    mode tcp
    timeout connect 2s
    timeout client 1h
    timeout server 1h
listen node
    bind {at}:8545
    server node {node}
listen hook
    bind {at}:9000
    server hook {hook}
"""


# Without etcd it ends; then systemd starts it again.
_AGAIN: Final = ("sh", "-c", 'while :; do "$@"; sleep 1; done', "again")


@dataclass(frozen=True)
class Program:
    """What runs on a machine. Programs other than Florin run as the engines' account."""

    argv: Sequence[str | Path]
    env: Mapping[str, str] | None = None


class StartError(Exception):
    """Something of the cluster did not start. What did is ended."""


class Cluster:
    """Use it as a context manager; it ends all that it started, also if a part does not start. Raises StartError."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.url = f"http://10.77.0.{_NUMBERS['front']}:8000"
        # Of those in the user database: initdb asks for its name.
        self._account = initdb_account(EngineAccount(uid=0, gid=0, switches=True))
        self._binaries = find_binaries(self._account)
        names = ("APP", "SUPERUSER", "REPLICATION", "REWIND", "REST", "VALKEY")
        self._passwords = {f"{name}_PASSWORD": secrets.token_hex(16) for name in names}
        self._exits = ExitStack()
        self._programs: dict[tuple[str, str], Program] = {}
        self.machines: dict[str, Machine] = {}

    def __enter__(self) -> Self:
        try:
            self._start_parts()
        except BaseException as error:
            self._exits.close()
            if isinstance(error, Exception):
                raise StartError(str(error)) from error
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def _start_parts(self) -> None:
        open_network()
        for name, number in _NUMBERS.items():
            self.machines[name] = Machine(name, number, self.home)
            self._exits.callback(self.machines[name].kill_all)
        shutil.copytree(PATRONI, self.home / "patroni", symlinks=True)
        self._make_certificates()
        self._define_databases()
        for name in ("db1", "db2", "aside"):
            self.start(name, "etcd")
        for name in DATABASES:
            self.start(name, "patroni")
        self.start("aside", "valkey")
        self._open_world()
        self._open_database()
        self._open_books()
        self._define_webs()
        self._start_webs()

    # What runs where.

    def _make_certificates(self) -> None:
        """Make them as the guide says, and give each machine its own."""
        self._certificates = self.home / "certificates"
        names = (*DATABASES, "aside")
        each = [f"{name}={self.machines[name].address}" for name in names]
        script = ROOT / "deploy" / "cluster" / "certificates"
        subprocess.run([script, self._certificates, *each], check=True)
        self._certificates.chmod(0o755)
        (self._certificates / "ca.crt").chmod(0o644)
        for name in names:
            for source, target in (
                ("ca.crt", "ca.crt"),
                (f"{name}.crt", "cluster.crt"),
                (f"{name}.key", "cluster.key"),
            ):
                place = self._folder(name) / target
                shutil.copyfile(self._certificates / source, place)
                place.chmod(0o600)
                give(place, self._account)

    def _define_databases(self) -> None:
        voters = {name: self.machines[name].address for name in (*DATABASES, "aside")}
        members = ",".join(f"{name}=https://{at}:2380" for name, at in voters.items())
        for name, address in voters.items():
            file = self._configure(
                name,
                "etcd.yml",
                NAME=name,
                ADDRESS=address,
                MEMBERS=members,
                FOLDER=str(self._folder(name)),
                CERTIFICATES=str(self._folder(name)),
            )
            argv: list[str | Path] = ["/usr/bin/etcd", "--config-file", file]
            self._programs[name, "etcd"] = Program(argv)
        for name in DATABASES:
            file = self._configure(
                name,
                "patroni.yml",
                NAME=name,
                ADDRESS=voters[name],
                ETCD=",".join(f"{at}:2379" for at in voters.values()),
                NETWORK=NETWORK,
                FOLDER=str(self._folder(name)),
                CERTIFICATES=str(self._folder(name)),
                BINARIES=str(self._binaries.postgres),
            )
            python = self.home / "patroni" / "bin" / "python"
            patroni: list[str | Path] = [*_AGAIN, python, "-m", "patroni", file]
            self._programs[name, "patroni"] = Program(patroni)
        argv = [self._binaries.valkey, "--bind", self.machines["aside"].address]
        argv += ["--requirepass", self._passwords["VALKEY_PASSWORD"]]
        argv += ["--dir", str(self._folder("aside")), "--appendonly", "yes"]
        self._programs["aside", "valkey"] = Program(argv)

    def _define_webs(self) -> None:
        addresses = {name.upper(): self.machines[name].address for name in (*DATABASES, *WEBS)}
        at = self.url.removeprefix("http://")
        front = self._configure("front", "haproxy-web.cfg", FRONT=at, **addresses)
        self._programs["front", "haproxy"] = Program(_haproxy(front))
        addresses["CERTIFICATES"] = str(self._certificates)
        world = _WORLD.format(at=HOST, node=f"{HERE}:8545", hook=f"{HERE}:9000")
        for name in WEBS:
            folder = self._folder(name)
            file = self._configure(name, "haproxy-database.cfg", more=world, **addresses)
            self._programs[name, "haproxy"] = Program(_haproxy(file))
            users = folder / "userlist.txt"
            users.write_text(f'"florin" "{self._passwords["APP_PASSWORD"]}"\n')
            file = self._configure(name, "pgbouncer.ini", FOLDER=str(folder))
            self._programs[name, "pgbouncer"] = Program(["/usr/sbin/pgbouncer", "-q", file])
            give(folder, self._account)
            for program, argv in self._own(name).items():
                self._programs[name, program] = Program(argv, self._environment())

    def _own(self, name: str) -> dict[str, Sequence[str]]:
        """The commands of Florin's own processes on a web machine."""
        web = web_arguments(8000, workers=1)
        web[web.index(HOST)] = self.machines[name].address
        alone = ("--without-gossip", "--without-mingle", "--concurrency", "1")
        quiet, schedule = ("--loglevel", "WARNING"), str(self.home / f"{name}-beat")
        beat = ("beat", "--schedule", schedule, "--pidfile=")
        return {
            "web": [sys.executable, *web],
            "worker": [*CELERY, "gateway.celery", "worker", *alone, *quiet],
            # A second one does no harm.
            "beat": [*CELERY, "gateway.beat", *beat, *quiet],
        }

    def _configure(self, name: str, file: str, *, more: str = "", **words: str) -> Path:
        """Write a shipped configuration for a machine, with its names replaced; return its path."""
        text = Template((ROOT / "deploy" / "cluster" / file).read_text())
        made = self._folder(name) / file
        made.write_text(text.substitute(self._passwords | words) + more)
        give(made, self._account)
        made.chmod(0o600)
        return made

    def _folder(self, name: str) -> Path:
        folder = self.home / name
        if not folder.exists():
            folder.mkdir(mode=0o700)
            give(folder, self._account)
        return folder

    def start(self, machine: str, program: str) -> None:
        """Start a program on its machine."""
        what = self._programs[machine, program]
        # The engines refuse to run as root, and Florin's own processes read this folder.
        account = self._account if what.env is None else None
        self.machines[machine].start(program, what.argv, env=what.env, account=account)

    def start_all(self, machine: str) -> None:
        """Start every program of a machine."""
        for name, program in self._programs:
            if name == machine:
                self.start(machine, program)

    # What is started once.

    def _open_world(self) -> None:
        self.receiver: Receiver = self._exits.enter_context(receiving())
        self.node = self._exits.enter_context(Anvil(_CHAIN_ID))
        prepare_chain(self.node)
        node, hook = f"{HOST}:{self.node.port}", f"{HOST}:{self.receiver.port}"
        file = self.home / "world.cfg"
        file.write_text(_WORLD.format(at=HERE, node=node, hook=hook))
        process = subprocess.Popen(_haproxy(file))
        self._exits.callback(process.wait)
        self._exits.callback(process.kill)

    def _open_database(self) -> None:
        wait_until(lambda: "leader" in self.roles().values(), seconds=_PATIENCE, pause=0.2)
        self.database = Database(self._direct("postgres", "SUPERUSER_PASSWORD", "postgres"))
        self._exits.callback(self.database.close)
        self.database.rows(f"CREATE ROLE florin LOGIN PASSWORD '{self._passwords['APP_PASSWORD']}'")
        self.database.rows("CREATE DATABASE florin OWNER florin")
        self.database.close()
        self.database.url = self._direct("postgres", "SUPERUSER_PASSWORD", "florin")

    def _direct(self, user: str, password: str, database: str) -> str:
        """Return where libpq itself finds the primary."""
        return make_conninfo(
            host=",".join(self.machines[name].address for name in DATABASES),
            user=user,
            password=self._passwords[password],
            dbname=database,
            target_session_attrs="read-write",
            connect_timeout=3,
        )

    def _open_books(self) -> None:
        self._settings = self._shared_settings()
        direct = {"DATABASE_URL": self._settings["DATABASE_DIRECT_URL"]}
        self.clerk = Clerk("tests.clerk", self._settings | direct)
        self._exits.callback(self.clerk.close)
        made = self.clerk.ask("set_up", wallets={CHAIN: _WALLET}, webhook_url=f"http://{HOST}:{_HOOK}/hook")
        more = [self.clerk.ask("create_key") for _ in range(_KEYS)]
        self.keys = [made["live_key"], *more]

    def _shared_settings(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("FLORIN_", "DATABASE_", "REDIS_"))}
        valkey = self._passwords["VALKEY_PASSWORD"]
        # As the guide writes it: an address with two hosts.
        hosts = ",".join(f"{self.machines[name].address}:5432" for name in DATABASES)
        password = self._passwords["APP_PASSWORD"]
        return {
            **inherited,
            "ALLOWED_HOSTS": f"{HOST},10.77.0.{_NUMBERS['front']}",
            "BASE_URL": self.url,
            "CHAIN_BASE_CONFIRMATIONS": str(_CONFIRMATIONS),
            "CHAIN_BASE_RPC_URLS": f"http://{HOST}:{_NODE}",
            "CHAIN_BASE_TOKEN_USDC": token_address("USDC"),
            "CHAIN_NETWORK": "local",
            "CHAIN_POLL_SECONDS": "0.5",
            "DATABASE_DIRECT_URL": f"postgresql://florin:{password}@{hosts}/florin?target_session_attrs=read-write",
            "DJANGO_SETTINGS_MODULE": "gateway.settings",
            "ENCRYPTION_KEYS": Fernet.generate_key().decode(),
            "FLORIN_ENV": "development",
            "FLORIN_VAR": str(self.home / "var"),
            "PYTHONUNBUFFERED": "1",
            "RECONCILE_SECONDS": "0",
            "REDIS_URL": f"redis://:{valkey}@{self.machines['aside'].address}:6379/0",
            "TRUSTED_PROXIES": self.machines["front"].address,
            "WEBHOOK_ALLOW_LOOPBACK": "true",
        }

    def _environment(self) -> dict[str, str]:
        """The settings of Florin's processes on a web machine, which go through its PgBouncer."""
        password = self._passwords["APP_PASSWORD"]
        return self._settings | {
            "DATABASE_URL": f"postgresql://florin:{password}@{HOST}:6432/florin",
            "DATABASE_PREPARE": "off",
        }

    def _start_webs(self) -> None:
        self.start("front", "haproxy")
        for name in WEBS:
            self.start_all(name)
        wait_until(self.is_in_order, seconds=_PATIENCE, pause=0.2)
        wait_until(lambda: self.clerk.ask("offered") == [CHAIN], pause=0.2)

    # What is asked of it.

    def is_in_order(self) -> bool:
        """Whether both web machines serve, one reads the chain, and a standby follows the primary."""
        roles = sorted(self.roles().values())
        return (
            roles == ["leader", "sync_standby"]
            and all(_answers(self.machines[name].address, 8000, "/readyz") for name in WEBS)
            and self.watching() != ""
        )

    def roles(self) -> dict[str, str]:
        """Return what each database machine is, of those that run or follow, as Patroni says."""
        for name in DATABASES:
            said = _ask(self.machines[name].address, 8008, "/cluster", authority=self._certificates / "ca.crt")
            if said is not None:
                return {
                    one["name"]: one["role"]
                    for one in json.loads(said)["members"]
                    if one["state"] in {"running", "streaming"}
                }
        return {}

    def the(self, role: str) -> str:
        """Return the name of the database machine with a role, once Patroni says that one has it."""
        found: dict[str, str] = {}

        def is_told() -> bool:
            found.update({has: name for name, has in self.roles().items()})
            return role in found

        wait_until(is_told, pause=0.2)
        return found[role]

    def watching(self) -> str:
        """Return the name of the web machine that reads the chain; empty if none does."""
        # What it was connected to may be gone.
        self.database.close()
        owner = self.database.value(
            "SELECT owner FROM wallets_chaincursor WHERE chain = %s AND lease_until > clock_timestamp()", CHAIN
        )
        try:
            network = os.readlink(f"/proc/{(owner or '::').split(':')[1]}/ns/net")
        except OSError:
            return ""
        return {self.machines[name].network: name for name in WEBS}[network]


def _haproxy(file: Path) -> list[str | Path]:
    return ["/usr/sbin/haproxy", "-q", "-db", "-f", file]


def _ask(host: str, port: int, path: str, *, authority: Path | None = None) -> bytes | None:
    """Return a server's answer of 200, by TLS where an authority is named; None without one."""
    peer = http.client.HTTPConnection(host, port, timeout=2)
    if authority is not None:
        context = ssl.create_default_context(cafile=authority)
        peer = http.client.HTTPSConnection(host, port, timeout=2, context=context)
    try:
        peer.request("GET", path, headers={"Host": HOST})
        answer = peer.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        peer.close()
    return body if answer.status == http.HTTPStatus.OK else None


def _answers(host: str, port: int, path: str) -> bool:
    return _ask(host, port, path) is not None
