"""What a stranger finds in the clone: documents, commands, and links that lead somewhere."""

import hashlib
import hmac
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import find_commands, get_commands
from django.urls import resolve

from gateway.core.api.views import RouteMissing
from tests.guides import MALFORMED
from tests.tree import APPS, ROOT, relative, repository_files
from webhooks.signatures import new_secret, sign

DOCUMENTS = [
    "README.md",
    "ARCHITECTURE.md",
    "GLOSSARY.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "LICENSE",
    "docs/guide/checkouts.md",
    "docs/guide/webhooks.md",
    "docs/guide/links.md",
    "docs/guide/test-mode.md",
    "docs/guide/deploying.md",
    "docs/guide/configuration.md",
]
ADR_SECTIONS = ["## Context", "## Decision", "## Consequences", "## Alternatives"]

MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:root|work|home|Users)/\w")
# Spelt in pieces, so that this file does not contain what it forbids.
REGISTRIES = [".".join(parts) for parts in (("pypi", "org"), ("npmjs", "org"))]
REGISTRIES.append(".".join(("files", "pythonhosted", "org")))

MARKDOWN_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# Words of a mannered English, which the documentation does without. Decisions are never edited, so they keep theirs.
MANNERED = re.compile(
    r"\b(whoever|whom|whose|nobody|somebody|beforehand|of ours|by itself|all the same|is told)\b", re.IGNORECASE
)
FENCED_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SCRIPT_MENTION = re.compile(r"(?<![\w/.-])((?:script|\.ci)/[a-z_-]+)\b")
# A shell's variable may stand for an id.
API_PATH_MENTION = re.compile(r"(/api/v1/(?:[a-z0-9_/{}.]|\$[A-Z_]+)+(?:[a-z}]|\$[A-Z_]+))")
# In ARCHITECTURE.md: a path, of which a part may be a `*`; and a folder of its tree, indented below its app.
PATH_MENTION = re.compile(r"`([a-z][\w*]*(?:/[\w*.-]+)+/?)`")
TREE_LINE = re.compile(r"^( {0,2})([\w/]+)/ ", re.MULTILINE)
# What does not fit is said by the modules' own docstrings, and by the guides.
MOST_WORDS_OF_THE_MAP = 1_750
# Folders that Django names, and the merchants' pages, which the text says of every app.
USUAL_FOLDERS = {"dashboard", "management", "migrations", "models", "templatetags"}
COMMAND_MENTION = re.compile(r"manage\.py ([a-z_][a-z0-9_]*)")


def markdown_files() -> list[Path]:
    """Every document, in reading order."""
    return list(repository_files(".md"))


def headings(document: Path) -> set[str]:
    """The anchors of a document's headings, as code hosts derive them."""
    text = FENCED_CODE.sub("", document.read_text())
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def dead_links(document: Path) -> Iterator[str]:
    """Targets inside the repository that are not there."""
    for target in MARKDOWN_LINK.findall(FENCED_CODE.sub("", document.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        if not _resolves(document, target):
            yield target


def _resolves(document: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    linked = (document.parent / name).resolve() if name else document
    if not linked.exists():
        return False
    return not anchor or linked.suffix != ".md" or anchor in headings(linked)


def python_of(name: str) -> dict[str, Any]:
    """What the first Python example of a document defines."""
    example = re.search(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
    assert example
    names: dict[str, Any] = {}
    exec(example[1], names)
    return names


def text_files() -> Iterator[tuple[Path, str]]:
    """Each text file of the repository with what is in it."""
    for path in repository_files():
        content = path.read_bytes()
        if b"\0" not in content:
            yield path, content.decode()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_document_exists_and_says_something(name: str) -> None:
    assert len((ROOT / name).read_text()) > 200


def test_the_licence_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
    assert text.rstrip().endswith("limitations under the License.")
    # A distribution of its own carries its own copy.
    for name in ("python", "api-python", "api-typescript", "api-php", "mcp", "django-payments"):
        assert (ROOT / "clients" / name / "LICENSE").read_text() == text


def test_commands_that_documents_name_can_be_run() -> None:
    named = {name for path in markdown_files() for name in SCRIPT_MENTION.findall(path.read_text())}
    assert {"script/demo", "script/test", ".ci/run"} <= named
    assert [name for name in sorted(named) if not os.access(ROOT / name, os.X_OK)] == []


def test_management_commands_that_documents_name_exist() -> None:
    named = {name for path in markdown_files() for name in COMMAND_MENTION.findall(path.read_text())}
    assert "migrate" in named
    known = {*get_commands(), *find_commands(str(ROOT / "demo" / "management"))}
    assert sorted(named - known) == []


def test_api_paths_that_documents_name_are_routes() -> None:
    named = {path for document in markdown_files() for path in API_PATH_MENTION.findall(document.read_text())}
    assert "/api/v1/checkouts" in named
    assert [path for path in sorted(named) if not _is_route(path)] == []


def _is_route(path: str) -> bool:
    view = resolve(re.sub(r"{\w+}|\$[A-Z_]+", "x", path)).func
    return getattr(view, "view_class", None) is not RouteMissing


def test_links_between_documents_lead_somewhere() -> None:
    found = {relative(path): list(dead_links(path)) for path in markdown_files()}
    assert {name: links for name, links in found.items() if links} == {}


def test_the_link_rule_sees_a_missing_file_and_a_missing_heading(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text("# A title\n[1](#a-title) [2](#other) [3](b.md) [4](https://example.com)")
    assert list(dead_links(document)) == ["#other", "b.md"]


def test_decisions_are_numbered_without_gaps_and_have_every_section() -> None:
    decisions = sorted((ROOT / "docs/adr").glob("[0-9]*.md"))
    assert [path.name[:5] for path in decisions] == [f"{number:04}-" for number in range(1, len(decisions) + 1)]
    missing = {
        path.name: [section for section in ADR_SECTIONS if section not in path.read_text()] for path in decisions
    }
    assert {name: sections for name, sections in missing.items() if sections} == {}


@pytest.fixture
def signed() -> tuple[bytes, dict[str, str], str]:
    """A body, the headers we would send with it now, and the secret."""
    body, secret = b'{"type": "checkout.completed"}', new_secret()
    headers = sign(body, message_id="evt_1", timestamp=int(time.time()), secrets=[secret])
    return body, headers, secret


def test_the_readmes_verifier_accepts_what_we_send_and_nothing_else(signed: tuple[bytes, dict[str, str], str]) -> None:
    body, headers, secret = signed
    is_genuine = python_of("README.md")["is_genuine"]
    header = headers["X-Service-Signature"]
    old = sign(body, message_id="evt_1", timestamp=int(time.time()) - 301, secrets=[secret])
    assert is_genuine(header, body, secret)
    assert not is_genuine(header, body + b" ", secret)
    assert not is_genuine(header, body, new_secret())
    assert not is_genuine(old["X-Service-Signature"], body, secret)
    for malformed in MALFORMED:
        assert not is_genuine(malformed, body, secret)
    # Anybody can sign with an empty secret.
    now = int(time.time())
    signature = hmac.new(b"", b"%d." % now + body, hashlib.sha256).hexdigest()
    assert not is_genuine(f"t={now},v1={signature}", body, "")


def test_no_path_of_a_machine_is_in_a_tracked_file() -> None:
    found = [
        f"{relative(path)}: {match.group()}" for path, text in text_files() for match in MACHINE_PATH.finditer(text)
    ]
    assert found == []


def test_the_path_rule_sees_a_home_folder_and_lets_addresses_pass() -> None:
    assert MACHINE_PATH.search("open('" + "/".join(("", "home", "ada")) + "/key')")
    assert not MACHINE_PATH.search("https://shop.example/work/1")


def test_no_package_registry_is_named() -> None:
    found = [relative(path) for path, text in text_files() if any(host in text for host in REGISTRIES)]
    assert found == []


def test_the_readme_is_short_and_has_a_picture_two_commands_and_a_table_with_sources() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) < 150
    assert (ROOT / re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text)[0]).is_file()
    tried = text.partition("## Try it")[2].partition("\n## ")[0]
    assert re.findall(r"^(script/\w+)", tried, re.MULTILINE) == ["script/demo", "script/test"]
    compared = text.partition("## Compared with others")[2].partition("\n## ")[0]
    for peer in ("BTCPay Server", "Bitcart", "SHKeeper", "Stripe", "Coinbase"):
        assert f"[{peer}](https://" in compared
        assert peer in compared.partition("\n| ")[2].partition("\n")[0]
    assert "## What it does not do" in text


def test_the_documentation_is_in_plain_words() -> None:
    found = [
        f"{relative(path)}: {match.group()}"
        for path in markdown_files()
        if not relative(path).startswith(("docs/adr/0", "docs/adr/README", "tests/", "docs/diagrams/"))
        for match in MANNERED.finditer(re.sub(r"\]\([^)]*\)", "]", FENCED_CODE.sub("", path.read_text())))
    ]
    assert found == []


def folders_of_the_map(text: str) -> Iterator[str]:
    """Yield every folder of the tree in ARCHITECTURE.md."""
    app = ""
    for indent, name in TREE_LINE.findall(text):
        app = app if indent else name
        yield f"{app}/{name}" if indent else name


def test_every_path_that_the_map_names_is_there() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = {*PATH_MENTION.findall(text), *folders_of_the_map(text)}
    assert len(named) > 100
    assert [name for name in sorted(named) if not list(ROOT.glob(name))] == []


def test_the_map_has_every_package_of_every_app() -> None:
    folders = {path.parent for app in APPS if app != "demo" for path in (ROOT / app).glob("*/__init__.py")}
    packages = {relative(folder) for folder in folders if folder.name not in USUAL_FOLDERS}
    assert packages - set(folders_of_the_map((ROOT / "ARCHITECTURE.md").read_text())) == set()


def test_the_map_is_read_in_ten_minutes() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().split()) <= MOST_WORDS_OF_THE_MAP


def test_the_rule_of_the_map_sees_paths_and_folders() -> None:
    text = "`shop/cart.py` `shop/*_rules.py` `POST /x`\n```\nshop/    sells\n  till/  counts\n```\n"
    assert PATH_MENTION.findall(text) == ["shop/cart.py", "shop/*_rules.py"]
    assert list(folders_of_the_map(text)) == ["shop", "shop/till"]


def test_the_rule_for_words_sees_a_mannered_sentence_and_lets_plain_ones_pass() -> None:
    assert MANNERED.search("An account whose key nobody has")
    assert not MANNERED.search("An account without a known key")
