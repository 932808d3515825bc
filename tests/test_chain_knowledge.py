"""What is known of a chain or a family of chains is known in `wallets/chains` alone: everybody else asks there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tree import ROOT, relative
from wallets.chains.registry import CHAINS, FAMILIES

APPS = (
    "accounts",
    "checkouts",
    "demo",
    "gateway",
    "greenfield",
    "links",
    "mails",
    "notices",
    "payouts",
    "rates",
    "reports",
    "settlements",
    "waitlist",
    "wallets",
    "webhooks",
    "x402",
)
HOME = ROOT / "wallets" / "chains"
NAMES = {facts.name for facts in CHAINS} | {family.name for family in FAMILIES}
# What no source that `chain_names` finds something in is without: most need not be parsed.
MAY_NAME = re.compile(rf"""["'](?:{"|".join(NAMES)})["']|\bmatch\b|_FAMILY\b""")

# Whatever is here must stay: each with the reason. Paths are of modules, or of folders.
ALLOWED = {
    "demo": "starts a node and a wallet for each family: demo/families.py is its one table, the rest what that names",
    "x402/exact/evm/rail.py": "the standard's way on EVM chains, chosen by x402/exact/rails.py alone",
    "x402/exact/evm/payloads.py": "reads what payers on EVM chains signed",
    "x402/exact/solana/rail.py": "the standard's way on Solana",
    "x402/dashboard/pages.py": "an example to copy",
    "checkouts/payloads.py": "an example event",
}


def chain_names(source: str) -> Iterator[int]:
    """Line numbers at which a module names a chain or a family, or asks which one something is of."""
    if not MAY_NAME.search(source):
        return
    tree = ast.parse(source)
    documented = {id(text) for text in _docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in NAMES:
            if id(node) not in documented:
                yield node.lineno
        elif isinstance(node, ast.Match):
            if _is_family(node.subject):
                yield node.lineno
        elif isinstance(node, ast.ImportFrom):
            names = {alias.name for alias in node.names}
            if any(name.endswith("_FAMILY") for name in names):
                yield node.lineno


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _is_family(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute | ast.Name) and (
        node.attr if isinstance(node, ast.Attribute) else node.id
    ) in {"family", "chain"}


def _is_allowed(path: Path) -> bool:
    place = relative(path)
    return any(place == one or place.startswith(f"{one}/") for one in ALLOWED)


def _sources() -> Iterator[Path]:
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            if HOME not in path.parents and "migrations" not in path.parts:
                yield path


def test_nobody_else_names_a_chain_or_asks_for_a_family() -> None:
    found = {
        relative(path): lines
        for path in _sources()
        if not _is_allowed(path) and (lines := list(chain_names(path.read_text())))
    }
    assert found == {}


def test_what_is_allowed_is_there_and_needs_it() -> None:
    sources = list(_sources())

    def is_used(one: str) -> bool:
        its = [path for path in sources if relative(path) == one or relative(path).startswith(f"{one}/")]
        return any(list(chain_names(path.read_text())) for path in its)

    assert [one for one in ALLOWED if not is_used(one)] == []


@pytest.mark.parametrize(
    "source",
    [
        'if chain == "base":\n    pass',
        'COINS = {"ethereum": "ETH"}',
        "match spec.family:\n    case _:\n        pass",
        "from wallets.chains.ton.family import TON_FAMILY",
        'if spec.family.name == "evm":\n    pass',
    ],
)
def test_asking_is_seen(source: str) -> None:
    assert list(chain_names(source)) == [1]


def test_migrations_name_no_chain() -> None:
    """A new chain needs none: no choice, constraint or trigger lists them."""
    files = [path for app in APPS for path in (ROOT / app).glob("migrations/*") if path.suffix in {".py", ".sql"}]
    assert files
    assert [relative(path) for path in files if any(f"'{name}'" in path.read_text() for name in NAMES)] == []


def test_no_text_says_that_only_the_first_chains_can_do_something() -> None:
    """An operator may name the nodes of further chains, which can do the same: `such as Base` stays true."""
    titles = "|".join(re.escape(facts.title) for facts in CHAINS if not facts.is_optional)
    closed = re.compile(rf"\bOnly (?:on )?(?:{titles})(?: and (?:{titles}))?\b")
    texts = [
        *_sources(),
        *sorted((ROOT / "templates").rglob("*.html")),
        *sorted((ROOT / "docs" / "guide").glob("*.md")),
    ]
    assert closed.search("Only Base and Polygon are offered.")
    assert [relative(path) for path in texts if closed.search(path.read_text())] == []
