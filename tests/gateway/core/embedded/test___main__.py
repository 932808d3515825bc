"""`python -m gateway.core.embedded` ends by a signal, or with its last user."""

import fcntl
from pathlib import Path

from gateway.core.embedded.engines import exists
from tests.gateway.core.embedded.servers import postmaster, start_apart
from tests.waiting import PATIENCE_SECONDS


def test_a_term_signal_stops_the_engines_and_exits_cleanly(home: Path) -> None:
    process = start_apart(home)
    server = postmaster(home)
    process.terminate()
    assert process.wait(PATIENCE_SECONDS) == 0
    assert not exists(server)


def test_shared_engines_end_when_their_last_user_leaves(homes: Path) -> None:
    users = homes / "users"
    with users.open("w") as user:
        fcntl.flock(user, fcntl.LOCK_SH)
        process = start_apart(homes / "home", "--until-unused", str(users))
        assert process.poll() is None
    assert process.wait(PATIENCE_SECONDS) == 0
