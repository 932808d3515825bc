"""The changelog as an Atom feed: one entry for each release."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from django.conf import settings
from django.utils.feedgenerator import Atom1Feed

from gateway.docs.pages import address_of, pages
from gateway.docs.rendering import anchor_of, render

_CHANGELOG: Path = settings.BASE_DIR / "CHANGELOG.md"
_RELEASE = re.compile(r"^## ((\S+) \(([^()]+)\))\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Release:
    """A release: its version, its heading in the changelog, when it was made, and its changes as Markdown."""

    version: str
    heading: str
    made_at: datetime
    text: str


@cache
def changelog_feed() -> str:
    """Return the feed as XML."""
    page = pages()["changelog"]
    address = settings.BASE_URL + page.url
    feed = Atom1Feed(
        title="Florin releases",
        link=address,
        description="What changes in Florin",
        feed_url=f"{settings.BASE_URL}/docs/changelog.xml",
        language="en",
    )
    for release in releases(_CHANGELOG.read_text()):
        html = render(release.text, link=_absolute).html
        feed.add_item(
            title=f"Florin {release.heading}",
            link=f"{address}#{anchor_of(release.heading, taken=set())}",
            description=html,
            unique_id=f"{address}#{release.version}",
            pubdate=release.made_at,
            updateddate=release.made_at,
        )
    return feed.writeString("utf-8")


def releases(text: str) -> Iterator[Release]:
    """Read the releases of a changelog, newest first. A release without a date gets that of the file."""
    for heading, version, date, changes in _RELEASE.findall(text):
        if date == "unreleased":
            made_at = datetime.fromtimestamp(_CHANGELOG.stat().st_mtime, UTC)
        else:
            made_at = datetime.fromisoformat(date).replace(tzinfo=UTC)
        yield Release(version, heading, made_at, changes)


def _absolute(target: str) -> str | None:
    address = address_of(pages()["changelog"], target)
    if address is None or not address.startswith("/"):
        return address
    return str(settings.BASE_URL) + address
