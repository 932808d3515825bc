"""A Valkey of a test's own, which stays away once it is stopped."""

from pathlib import Path

from gateway.core.embedded.engines import Valkey, find_binaries
from gateway.core.embedded.layout import Layout
from gateway.core.embedded.processes import Keeper
from tests.waiting import PATIENCE_SECONDS, wait_until

START_SECONDS = PATIENCE_SECONDS


class OwnValkey:
    """A Valkey that stays away once it is stopped; the engines' supervisor would start it again at once."""

    def __init__(self, home: Path) -> None:
        layout = Layout(home)
        layout.open_home()
        layout.open_data()
        binary = find_binaries(layout.account).valkey
        self._server = Valkey(layout, binary, durable=True)
        self._server.create()
        self._keeper: Keeper | None = None

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def pid(self) -> int:
        assert self._keeper is not None
        return self._keeper.pids[Valkey.name]

    def start(self) -> None:
        """Start it and return once it answers."""
        self._keeper = keeper = Keeper([self._server.command()], told=print)
        keeper.start()
        wait_until(lambda: Valkey.name in keeper.pids and self._server.ready(), seconds=START_SECONDS)

    def ensure(self) -> None:
        """Start it unless it runs."""
        if self._keeper is None:
            self.start()

    def stop(self) -> None:
        """Stop it; harmless when it does not run."""
        if self._keeper is not None:
            self._keeper.stop()
            self._keeper = None
