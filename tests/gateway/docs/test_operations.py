"""Commands, metrics and settings: each has its entry in the guides, and each entry is about one."""

import re

import pytest
from django.apps import apps
from django.core.management import get_commands

from gateway.pages.metrics import measure
from tests.factories import NOON, make_live_chain
from tests.tree import ROOT

GUIDE = ROOT / "docs" / "guide"
OURS = {app.name for app in apps.get_app_configs() if "site-packages" not in app.path}


def entries(document: str, heading: str) -> list[str]:
    """The first cells of the table below a heading."""
    part = (GUIDE / document).read_text().partition(f"\n## {heading}\n")[2]
    rows = re.findall(r"^\| `(\w+)` \|", part.partition("\n## ")[0], re.MULTILINE)
    assert rows
    return rows


def test_each_command_has_its_entry_and_each_entry_its_command() -> None:
    commands = {name for name, app in get_commands().items() if app in OURS}
    assert sorted(entries("operations.md", "Commands")) == sorted(commands)


@pytest.mark.django_db
def test_each_metric_that_is_told_has_its_entry() -> None:
    make_live_chain("base")
    scraped = measure(now=NOON).decode()
    told = re.findall(r"^# HELP (florin_\w+) ", scraped, re.MULTILINE)
    # The library's own, of when a counter began.
    told = [name for name in told if not name.endswith("_created")]
    assert sorted(entries("operations.md", "Metrics")) == sorted(told)


def test_each_entry_of_the_configuration_is_a_setting() -> None:
    documented = (GUIDE / "configuration.md").read_text()
    rows = re.findall(r"^\| ((?:`[A-Z_]+`(?:, )?)+) \|", documented, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}
    words = {
        word
        for path in ROOT.glob("[a-z]*/**/*.py")
        if path.relative_to(ROOT).parts[0] not in {"tests", "node_modules", "var"}
        for word in re.findall(r"[A-Z][A-Z_]+", path.read_text())
    }
    # One of a single chain is read by the end of its name.
    unread = {name for name in named if name not in words}
    assert named
    assert {name for name in unread if name.split("_", 2)[-1] not in words} == set()
