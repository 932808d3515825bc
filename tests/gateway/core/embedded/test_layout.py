"""Folders of engines."""

from pathlib import Path

import pytest

from gateway.core.embedded import Engines, EnginesError


def test_a_socket_folder_that_is_a_link_is_refused(homes: Path) -> None:
    engines = Engines(homes / ("deep" * 25))
    engines.layout.open_home()
    run = engines.layout.run
    run.symlink_to(homes)
    with pytest.raises(EnginesError, match="somebody else"):
        engines.start()
    run.unlink()
