"""Commands, metrics and settings: each has its entry in the guides, and each entry is about one."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.core.management import get_commands
from django.urls import get_resolver

from gateway.core.api.rate_limits import PER_ADDRESS
from gateway.core.api.views import ApiViewSet
from gateway.pages.metrics import measure
from tests.factories import NOON, make_live_chain
from tests.tree import ROOT
from wallets.networks import chains
from x402.api import SETTLE

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


def test_the_table_of_chains_says_what_is_offered(settings: Any) -> None:
    settings.CHAIN_NETWORK = "mainnet"
    text = (GUIDE / "chains.md").read_text()
    rows = re.findall(
        r"^\| `(\w+)` \| ([\w, ]+) \| (\d+) \| (\d+) s \| (.*) \|$", text, re.MULTILINE
    )
    assert rows == [
        (
            name,
            ", ".join(token.symbol for token in spec.accepted_tokens),
            str(spec.confirmations),
            str(spec.estimated_confirm_seconds),
            "your wallet, an exact amount"
            if spec.exact_amount_required
            else "a deposit address of the checkout",
        )
        for name, spec in chains().items()
    ]


def test_the_table_of_limits_says_what_is_counted() -> None:
    text = (GUIDE / "chains.md").read_text()
    rows = re.findall(r"^\| `([\w.]+)` \| (\d+) \|", text, re.MULTILINE)
    views = [
        pattern.callback.cls
        for pattern in get_resolver().url_patterns
        for pattern in getattr(pattern, "url_patterns", [])
        if issubclass(getattr(pattern.callback, "cls", object), ApiViewSet)
    ]
    keyed = [view for view in views if view.key_required]
    limits = {PER_ADDRESS, SETTLE, *(view.other_limit for view in keyed)}
    limits |= {limit for view in keyed for limit in view.limits.values()}
    counted = {limit.scope: limit.most for limit in limits if limit.scope != "other"}
    assert {name: int(requests) for name, requests in rows} == counted
