"""Machines that are network namespaces, joined by a bridge, with programs that can be killed one by one or all at once.

This process must be in network and process namespaces of its own: what it starts ends with it, and nothing reaches the host.
"""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import psutil

from gateway.core.embedded.account import EngineAccount
from tests.tree import ROOT
from tests.waiting import wait_until

HERE: Final = "10.77.0.1"
"""This process's own address on the bridge."""
NETWORK: Final = "10.77.0.0/24"
_BRIDGE: Final = "machines"


def open_network() -> None:
    """Make the bridge that machines are joined by, with this process's own address on it."""
    _ip("link", "set", "lo", "up")
    _ip("link", "add", _BRIDGE, "type", "bridge")
    _ip("address", "add", f"{HERE}/24", "dev", _BRIDGE)
    _ip("link", "set", _BRIDGE, "up")


class Machine:
    """A network namespace with an address, and the programs that run in it."""

    def __init__(self, name: str, number: int, logs: Path) -> None:
        self.name = name
        self.address = f"10.77.0.{number}"
        self._cable = f"to-{name}"
        self._logs = logs
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._namespace = self._open()
        self.network = os.readlink(self._namespace)

    def _open(self) -> str:
        # A namespace lasts as long as a process is in it.
        self._keeper = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        path = f"/proc/{self._keeper.pid}/ns/net"
        ours = os.readlink("/proc/self/ns/net")
        wait_until(lambda: os.readlink(path) != ours)
        inside = ("peer", "name", "eth0", "netns", str(self._keeper.pid))
        _ip("link", "add", self._cable, "type", "veth", *inside)
        _ip("link", "set", self._cable, "master", _BRIDGE)
        self.plug_in()
        for words in (
            ("link", "set", "lo", "up"),
            ("address", "add", f"{self.address}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
        ):
            subprocess.run(["nsenter", f"--net={path}", "ip", *words], check=True)
        return path

    def start(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        account: EngineAccount | None = None,
    ) -> None:
        """Start a program on this machine, as `account` where one is given."""
        enter: list[str] = ["nsenter", f"--net={self._namespace}"]
        if account is not None and account.switches:
            ids = (f"--reuid={account.uid}", f"--regid={account.gid}")
            enter += ["setpriv", *ids, "--clear-groups"]
        with (self._logs / f"{self.name}-{name}.log").open("ab") as log:
            self._programs[name] = subprocess.Popen(
                [*enter, *map(str, argv)],
                cwd=ROOT if account is None else "/",
                env=env or {"PATH": "/usr/bin:/bin:/usr/sbin", "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, name: str, *, others: str = "") -> None:
        """Kill a program and its children as kill -9 does, and every process on this machine called `others`."""
        process = self._programs.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        if others:
            self._kill(others)
        process.wait()

    def kill_all(self) -> None:
        """Kill every program on this machine."""
        for process in self._programs.values():
            os.killpg(process.pid, signal.SIGKILL)
        self._kill()
        while self._programs:
            self._programs.popitem()[1].wait()

    def _kill(self, named: str | None = None) -> None:
        for process in psutil.process_iter(["name"]):
            if process.pid == self._keeper.pid or named not in {None, process.info["name"]}:
                continue
            try:
                if os.readlink(f"/proc/{process.pid}/ns/net") == self.network:
                    process.kill()
            except (OSError, psutil.NoSuchProcess):
                continue

    def unplug(self) -> None:
        """Cut this machine's network: others get no answer, and no notice of closed connections."""
        _ip("link", "set", self._cable, "down")

    def plug_in(self) -> None:
        """Connect this machine to the network."""
        _ip("link", "set", self._cable, "up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
