"""Folders of engines."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.core.embedded import (
    Engines,
    EnginesError,
)


@pytest.fixture
def homes() -> Iterator[Path]:
    # Not tmp_path: its parents are private, and root's engines run as another user.
    folder = Path(tempfile.mkdtemp(prefix="florin-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_socket_folder_that_is_a_link_is_refused(homes: Path) -> None:
    engines = Engines(homes / ("deep" * 25))
    engines.layout.open_home()
    run = engines.layout.run
    run.symlink_to(homes)
    with pytest.raises(EnginesError, match="somebody else"):
        engines.start()
    run.unlink()
