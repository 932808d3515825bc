"""DEBUG pages and the debug toolbar exist in `script/dev` and nowhere else."""

import ast
import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.test import Client

from tests.test_architecture import locked_versions
from tests.tree import ROOT

PRINT = """
import json, django
from django.conf import settings
django.setup()
from django.urls import Resolver404, resolve
try:
    resolve("/__debug__/render_panel/")
    toolbar = True
except Resolver404:
    toolbar = False
print(settings.DEBUG, toolbar, "debug_toolbar" in settings.INSTALLED_APPS)
"""
NO_CODE = "settings are for development"


def loaded(module: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Load settings as a process of its own does; prints DEBUG, and whether there are the toolbar's routes and app."""
    ours = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}
    named = {"DJANGO_SETTINGS_MODULE": module, "SECRET_KEY": "a" * 50}
    return subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=ROOT,
        env=ours | named | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("kind", ["production", "Development"])
def test_no_environment_turns_debug_on_in_production(kind: str) -> None:
    wishes = dict.fromkeys(("DEBUG", "DJANGO_DEBUG", "FLORIN_DEBUG"), "true")
    told = loaded("gateway.settings", FLORIN_ENV=kind, **wishes)
    assert told.stdout.split() == ["False", "False", "False"], told.stderr


def test_the_products_settings_say_debug_once_and_by_a_constant() -> None:
    tree = ast.parse((ROOT / "gateway" / "settings.py").read_text())
    written = [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign)
        and "DEBUG" in {getattr(n, "id", "") for n in ast.walk(node)}
    ]
    assert written == ["DEBUG = False"]


@pytest.mark.parametrize("module", ["demo.debug.settings", "demo.front.settings"])
@pytest.mark.parametrize("kind", ["production", "Development"])
def test_settings_of_development_do_not_load_in_production(kind: str, module: str) -> None:
    told = loaded(module, FLORIN_ENV=kind)
    assert told.returncode != 0
    assert NO_CODE in told.stderr.splitlines()[-1]


def test_the_debug_settings_load_in_development() -> None:
    told = loaded("demo.debug.settings", FLORIN_ENV="development")
    assert told.stdout.split() == ["True", "True", "True"], told.stderr


def test_production_installs_neither_the_toolbar_nor_the_reloader() -> None:
    ours = {"django-debug-toolbar", "watchfiles"}
    assert ours <= locked_versions(ROOT / "requirements/dev.txt").keys()
    assert not ours & locked_versions(ROOT / "requirements/run.txt").keys()


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["", "render_panel/", "history_refresh/"])
def test_the_product_has_no_page_of_the_toolbar(client: Client, path: str) -> None:
    assert not settings.DEBUG
    assert client.get(f"/__debug__/{path}").status_code == 404
