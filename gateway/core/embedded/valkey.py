"""One Valkey server: configure, start, wait until ready."""

import signal
import socket
from pathlib import Path
from urllib.parse import quote

from gateway.core.embedded.account import give
from gateway.core.embedded.layout import Layout, write_private
from gateway.core.embedded.leftovers import clear_leftovers
from gateway.core.embedded.processes import Command

NAME = "valkey"


class Valkey:
    """The server of one layout, run by `binary`; socket only, with a password."""

    name = NAME

    def __init__(self, layout: Layout, binary: Path, *, durable: bool) -> None:
        self.layout = layout
        self.binary = binary
        self.durable = durable
        self.socket = layout.run / "valkey.sock"
        self.pid_file = layout.run / "valkey.pid"
        self.config_file = layout.run / "valkey.conf"

    @property
    def url(self) -> str:
        """Return the URL in redis-py's form, password included."""
        return f"unix://:{self.layout.password(NAME)}@{quote(str(self.socket))}?db=0"

    def create(self) -> None:
        """Write the configuration file. A file keeps the password out of the command line."""
        settings = {
            "port": 0,
            "unixsocket": f'"{self.socket}"',
            "unixsocketperm": 700,
            "requirepass": self.layout.password(NAME),
            "dir": f'"{self.layout.valkey_data}"',
            "pidfile": f'"{self.pid_file}"',
            "appendonly": "yes" if self.durable else "no",
            "databases": 16,
            # A broker must refuse a message it cannot hold, and never drop one.
            "maxmemory-policy": "noeviction",
            # Keeps the command line, which identifies an orphan.
            "set-proc-title": "no",
        }
        if not self.durable:
            settings["save"] = '""'
        text = "".join(f"{name} {value}\n" for name, value in settings.items())
        write_private(self.config_file, text)
        give(self.config_file, self.layout.account)

    def command(self) -> Command:
        return Command(
            name=NAME,
            argv=[self.binary, self.config_file],
            log=self.layout.log(NAME),
            cwd=self.layout.valkey_data,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin", "TZ": "UTC"},
            account=self.layout.account,
            prepare=lambda: clear_leftovers(self, signal.SIGTERM),
        )

    def owns(self, command_line: str) -> bool:
        """Return whether this is the command line of our server."""
        return "valkey" in command_line and str(self.config_file) in command_line

    def forget(self) -> None:
        """Remove files that name a process that is not ours."""
        self.pid_file.unlink(missing_ok=True)

    def ready(self, pid: int) -> bool:
        """Return whether the server with this process id answers and has loaded its data."""
        try:
            if int(self.pid_file.read_text()) != pid:
                return False
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(5)
                connection.connect(str(self.socket))
                connection.sendall(b"PING\r\n")
                return b"LOADING" not in connection.recv(64)
        except (OSError, ValueError):
            return False
