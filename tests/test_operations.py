"""Commands, metrics, settings, permissions: each has its entry in the guides, and each entry is about one."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import find_commands, get_commands
from django.urls import get_resolver

from accounts.states import Role
from accounts.team.permissions import Act, may
from gateway.core.api.views import ApiView
from tests.deploy.florinctl import florinctl
from tests.scrapes import scrape_everything
from tests.tree import ROOT
from wallets.chains import registry
from wallets.networks import known_chains
from x402.api import SETTLE

GUIDE = ROOT / "docs" / "guide"
CONFIGURATION = (GUIDE / "configuration.md").read_text()
# Read by the end of its name, and on one chain alone.
ONE_CHAINS = {"CHAIN_TRON_GRID_URLS"}
OURS = {app.name for app in apps.get_app_configs() if "site-packages" not in app.path}


def entries(document: str, heading: str) -> list[str]:
    """The first cells of the table below a heading."""
    part = (GUIDE / document).read_text().partition(f"\n## {heading}\n")[2]
    rows = re.findall(r"^\| `(\w+)` \|", part.partition("\n## ")[0], re.MULTILINE)
    assert rows
    return rows


def test_each_command_has_its_entry_and_each_entry_its_command() -> None:
    commands = [name for name, app in get_commands().items() if app in OURS]
    # A server has no demo: only manage.py of a clone finds these.
    demos = find_commands(str(ROOT / "demo" / "management"))
    assert sorted(entries("operations.md", "Commands")) == sorted([*commands, *demos])


@pytest.mark.django_db
def test_each_metric_that_is_told_has_its_entry(settings: Any, tmp_path: Path) -> None:
    told = [
        name
        for name in re.findall(r"^# HELP (florin_\w+) ", scrape_everything(settings, tmp_path), re.MULTILINE)
        # The library's own: when a counter began, and parts of a histogram.
        if not name.endswith(("_created", "_gcount", "_gsum"))
    ]
    assert sorted(entries("operations.md", "Metrics")) == sorted(told)


def test_each_setting_has_its_entry_and_each_entry_its_setting() -> None:
    text = (ROOT / "gateway" / "settings.py").read_text()
    read = set(re.findall(r'env\.\w+\(\s*"([A-Z][A-Z0-9_]+)"', text))
    rows = re.findall(r"^\| (`[A-Z0-9_]+`(?:, `[A-Z0-9_]+`)*) \|", CONFIGURATION, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([A-Z0-9_]+)`", row)}
    assert sorted(named - ONE_CHAINS) == sorted(read)
    assert named >= ONE_CHAINS


def test_each_setting_of_every_chain_has_its_entry_and_each_entry_its_setting() -> None:
    rows = re.findall(r"^\| `CHAIN_<NAME>_([A-Z_]+)(?:<SYMBOL>)?` \|", CONFIGURATION, re.MULTILINE)
    own = {key for chain in registry.CHAINS for key in chain.family.own_settings}
    assert {*rows, "GRID_URLS"} == {*registry.KEYS, *own, "TOKEN_"}


def test_each_setting_of_florinctl_has_its_entry_and_each_entry_its_setting() -> None:
    table = (GUIDE / "restoring.md").read_text().partition("| variable |")[2]
    rows = re.findall(r"^ +\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \|", table, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}
    program = (ROOT / "deploy" / "florinctl").read_text()
    own = re.findall(r'"((?:BACKUP|PG)_[A-Z_]+|FLORIN_HOME|FLORIN_PYTHON|POSTGRES_FOLDER)"', program)
    assert named == set(own)


def test_each_verb_of_florinctl_has_its_entry_and_each_entry_its_verb() -> None:
    table = (GUIDE / "deploying.md").read_text().partition("| command | does |")[2]
    rows = re.findall(r"^\| (`[\w-]+`(?:, `[\w-]+`)*) \|", table.partition("\n\n")[0], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    verbs = re.findall(r"^    ([a-z-]+)(?:  |$)", florinctl.parser().format_help(), re.MULTILINE)
    assert sorted(named) == sorted(verbs)


def test_each_permission_has_its_entry_with_its_roles_and_each_entry_its_permission() -> None:
    text = (GUIDE / "team.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (yes|no) \| (yes|no) \| (yes|no) \|$", text, re.MULTILINE)
    roles = (Role.OWNER, Role.ADMIN, Role.VIEWER)
    assert sorted(rows) == sorted((act.value, *("yes" if may(role, act) else "no" for role in roles)) for act in Act)


def test_the_table_of_chains_says_what_is_offered(settings: Any) -> None:
    settings.CHAIN_NETWORK = "mainnet"
    text = (GUIDE / "chains.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([\w, ]+) \| (\d+) \| (\d+) s \| (.*) \|$", text, re.MULTILINE)
    assert rows == [
        (
            name,
            ", ".join(token.symbol for token in spec.accepted_tokens),
            str(spec.confirmations),
            str(spec.estimated_confirm_seconds),
            "your wallet, an exact amount" if spec.exact_amount_required else "a deposit address of the checkout",
        )
        for name, spec in known_chains().items()
    ]


def test_the_table_of_limits_says_what_is_counted() -> None:
    text = (GUIDE / "chains.md").read_text()
    rows = re.findall(r"^\| `([\w.]+)` \| (\d+) \|", text, re.MULTILINE)
    views = [
        pattern.callback.cls
        for group in get_resolver().url_patterns
        for pattern in getattr(group, "url_patterns", [group])
        if issubclass(getattr(pattern.callback, "cls", object), ApiView)
    ]
    keyed = [view for view in views if view.key_required]
    limits = {SETTLE, *(view.other_limit for view in keyed)}
    limits |= {view.keyless_limit for view in views}
    limits |= {limit for view in keyed for limit in getattr(view, "limits", {}).values()}
    counted = {limit.scope: limit.most for limit in limits}
    assert {name: int(requests) for name, requests in rows} == counted
