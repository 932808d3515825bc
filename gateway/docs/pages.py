"""The pages of the documentation: their Markdown files, sections and order."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from django.conf import settings

from gateway.docs.reference import REFERENCE, reference
from gateway.docs.rendering import IMAGES_URL, Rendered, render

_ROOT: Path = settings.BASE_DIR
SECTIONS: Final[dict[str, list[str]]] = {
    "Start": [
        "docs/guide/quickstart.md",
        "docs/guide/going-live.md",
        "docs/guide/test-mode.md",
        "docs/guide/demo.md",
        "docs/guide/agents.md",
    ],
    "Tasks": [
        "docs/guide/checkouts.md",
        "docs/guide/links.md",
        "docs/guide/currencies.md",
        "docs/guide/keys.md",
        "docs/guide/idempotency.md",
        "docs/guide/webhooks.md",
        "docs/guide/escrow.md",
        "docs/guide/gas-free.md",
        "docs/guide/payouts.md",
        "docs/guide/refunds.md",
        "docs/guide/receipts.md",
        "docs/guide/x402-clients.md",
        "docs/guide/x402.md",
        "docs/guide/x402-compatibility.md",
        "docs/guide/reports.md",
        "docs/guide/accounting.md",
        "docs/guide/wallets.md",
    ],
    "Migrate": ["docs/guide/btcpay.md", "docs/guide/from-btcpay.md", "docs/guide/from-coinbase-commerce.md"],
    "Concepts": [
        "docs/guide/payments.md",
        "docs/guide/custody.md",
        "docs/guide/for-buyers.md",
        "docs/guide/chains.md",
        "GLOSSARY.md",
    ],
    "Dashboard": [
        "docs/guide/dashboard.md",
        "docs/guide/inbox.md",
        "docs/guide/settings.md",
        "docs/guide/team.md",
        "docs/guide/notices.md",
        "docs/guide/till.md",
        "docs/guide/fees.md",
        "docs/guide/wallet-apps.md",
        "docs/guide/branding.md",
        "docs/guide/languages.md",
    ],
    "API reference": ["docs/guide/errors.md"],
    "Operations": [
        "docs/guide/deploying.md",
        "docs/guide/restoring.md",
        "docs/guide/configuration.md",
        "docs/guide/scaling.md",
        "docs/guide/operations.md",
        "docs/guide/runbooks.md",
        "docs/guide/settlement.md",
        "docs/guide/operator.md",
        "SECURITY.md",
        "CHANGELOG.md",
    ],
    "Development": [
        "clients/python/README.md",
        "docs/guide/add-a-chain.md",
        "ARCHITECTURE.md",
        "docs/caches.md",
        "CONTRIBUTING.md",
        "docs/diagrams/payments.md",
        "docs/diagrams/tables.md",
        "docs/adr/README.md",
    ],
}
"""Each section's name, and the documents of its pages, below the root."""

_UNLISTED = "Decisions"
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_SLUGS = {"clients/python/README.md": "florin-x402", "docs/adr/README.md": "decisions", "README.md": ""}
_OWN_ADDRESS: Final = re.compile(r"http://127\.0\.0\.1:8000\b")
"""The demo's address in the files. Served pages name the server that they come from."""
_CODE: Final = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_FOLDERS = {"adr": "decisions/", "diagrams": "diagrams/"}


@dataclass(frozen=True)
class DocsPage:
    """A page: `slug` is its path below /docs/. Its Markdown is read on request."""

    slug: str
    title: str
    section: str
    read: Callable[[], str]
    folder: Path = _ROOT

    @property
    def url(self) -> str:
        """Return the page's URL path."""
        return f"/docs/{self.slug}/"

    @property
    def markdown_url(self) -> str:
        """Return the URL path of its Markdown."""
        return f"/docs/{self.slug}.md"

    def markdown(self) -> str:
        """Return its Markdown as it is served: links lead to other pages' Markdown on this server, or are plain text."""
        return _markdown(self.slug)

    def rendered(self) -> Rendered:
        """Return the page as HTML, with its headings."""
        return _rendered(self.slug)


@cache
def pages() -> dict[str, DocsPage]:
    """Return every page by its slug, in the order of the sections."""
    found = []
    for section, names in SECTIONS.items():
        found += [_page_of(_ROOT / name, section) for name in names]
        if section == "API reference":
            found += [
                DocsPage(slug, title, section, lambda slug=slug: reference(slug))  # type: ignore[misc]
                for slug, title in REFERENCE.items()
            ]
    decisions = sorted((_ROOT / "docs" / "adr").glob("0*.md"))
    found += [_page_of(path, _UNLISTED) for path in decisions]
    return {page.slug: page for page in found}


def sections() -> list[tuple[str, list[DocsPage]]]:
    """Return the sections of the menu with their pages."""
    return [(name, [page for page in pages().values() if page.section == name]) for name in SECTIONS]


def neighbours(page: DocsPage) -> tuple[DocsPage | None, DocsPage | None]:
    """Return the page before this one in the menu, and the one after it."""
    listed = [each for _, found in sections() for each in found]
    if page not in listed:
        return None, None
    at = listed.index(page)
    after = listed[at + 1] if at + 1 < len(listed) else None
    return (listed[at - 1] if at else None), after


def _page_of(path: Path, section: str) -> DocsPage:
    title = _TITLE.search(path.read_text())
    if title is None:
        raise ValueError(f"{path.name} has no title.")

    def read() -> str:
        return _OWN_ADDRESS.sub(settings.BASE_URL, path.read_text())

    return DocsPage(_slug_of(path), title[1], section, read, path.parent)


def _slug_of(path: Path) -> str:
    name = path.relative_to(_ROOT).as_posix()
    if name in _SLUGS:
        return _SLUGS[name]
    folder = _FOLDERS.get(path.parent.name, "")
    return folder + path.stem.lower()


@cache
def _markdown(slug: str) -> str:
    page = pages()[slug]
    parts = _CODE.split(page.read())
    parts[::2] = [_LINK.sub(lambda found: _link(page, found), part) for part in parts[::2]]
    return "".join(parts)


def _link(page: DocsPage, found: re.Match[str]) -> str:
    is_image, words, target = found.groups()
    if is_image:
        return f"![{words}]({settings.BASE_URL}{IMAGES_URL}{target.rsplit('/', 1)[-1]})"
    address = address_of(page, target)
    if address is None:
        return words
    place, mark, anchor = address.partition("#")
    slug = place.removeprefix("/docs/").removesuffix("/")
    if place == "/docs/":
        slug = "index"
    elif not place.startswith("/docs/") or slug not in pages():
        return found[0] if not place.startswith("/") else f"[{words}]({settings.BASE_URL}{address})"
    return f"[{words}]({settings.BASE_URL}/docs/{slug}.md{mark}{anchor})"


@cache
def _rendered(slug: str) -> Rendered:
    page = pages()[slug]
    return render(page.read(), link=lambda target: address_of(page, target))


def address_of(page: DocsPage, target: str) -> str | None:
    """Return the URL on this site for a link of the page; None if it leads to a file that is not a page."""
    if re.match(r"[a-z]+:|[/#]", target):
        return target
    name, _, anchor = target.partition("#")
    path = (page.folder / name).resolve()
    slug = _slug_of(path) if path.suffix == ".md" and path.exists() else None
    if slug is None or (slug and slug not in pages()):
        return None
    address = f"/docs/{slug}/" if slug else "/docs/"
    return f"{address}#{anchor}" if anchor and slug else address
