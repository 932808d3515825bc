"""Looking for static files once gives every client what it would find itself."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from whitenoise.middleware import WhiteNoiseMiddleware

from tests import statics


def found() -> dict[str, str]:
    """The path of each file that a new middleware serves, by its address."""
    middleware = WhiteNoiseMiddleware(lambda request: None)
    return {url: file.alternatives[-1][1] for url, file in middleware.files.items() if hasattr(file, "alternatives")}


def test_what_is_remembered_is_what_a_middleware_finds_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    remembered = found()
    monkeypatch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", statics._look)
    assert found() == remembered
    assert len(remembered) > 100


def test_other_folders_are_looked_at_anew(settings: Any, tmp_path: Path) -> None:
    (tmp_path / "of-this-test.css").write_text("p{}")
    assert "/static/of-this-test.css" not in found()
    settings.STATICFILES_DIRS = [tmp_path]
    assert "/static/of-this-test.css" in found()


def test_clients_do_not_look_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found()
    monkeypatch.setattr(statics, "_found_by", pytest.fail)
    assert Client().get("/static/nothing.css").status_code == 404
