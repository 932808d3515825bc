"""Fixtures that several tests of this folder share."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def homes() -> Iterator[Path]:
    # Not tmp_path: its parents are private, and root's engines run as another user.
    folder = Path(tempfile.mkdtemp(prefix="florin-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def home(homes: Path) -> Path:
    return homes / "home"
