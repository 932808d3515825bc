"""What production serves: every static file, and every file a static file names, under a hashed name."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management import call_command
from django.test import override_settings
from whitenoise.compress import Compressor

# Collecting takes seconds: one worker does it for all of them.
pytestmark = pytest.mark.xdist_group("statics")

HASHED = re.compile(r"\.[0-9a-f]{12}\.\w+$")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Static files as `collectstatic` leaves them in production."""
    folder = tmp_path_factory.mktemp("static")
    storage = {"BACKEND": "gateway.core.web.statics.HashedStaticFiles"}
    storages = settings.STORAGES | {"staticfiles": storage}
    with override_settings(STATIC_ROOT=folder, STORAGES=storages), pytest.MonkeyPatch.context() as patch:
        # Compressing as well as can be takes longer than everything else; tests/weight.py weighs what that makes.
        patch.setattr(Compressor, "compress_brotli", staticmethod(partial(brotli.compress, quality=1)))
        call_command("collectstatic", interactive=False, verbosity=0)
        yield folder


def hashed(name: str) -> str:
    """The name a static file is served under."""
    storage: Any = staticfiles_storage
    return str(storage.stored_name(name))


def served(folder: Path, name: str) -> str:
    """The text a browser gets for a static file."""
    return (folder / hashed(name)).read_text()


def test_modules_import_each_other_by_hashed_names(collected: Path) -> None:
    text = served(collected, "js/checkout.js")
    imported = re.findall(r"""(?:from|import)[ (]*["']\./([^"']+)""", text)
    assert len(imported) >= 4
    assert [name for name in imported if not HASHED.search(name)] == []
    assert [name for name in imported if not (collected / "js" / name).exists()] == []


def test_styles_name_their_fonts_by_hashed_names(collected: Path) -> None:
    names = re.findall(r'url\("([^"]+)"\)', served(collected, "css/florin.css"))
    assert len(names) == 2
    assert [name for name in names if not HASHED.search(name)] == []


def test_files_are_compressed_ahead(collected: Path) -> None:
    name = hashed("js/checkout.js")
    assert (collected / f"{name}.br").exists()
    assert (collected / f"{name}.gz").exists()
