"""The guide of this version: pages, and the sections that have the words of a question."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

_SECTION: Final = re.compile(r"^## ", re.MULTILINE)
_WORD: Final = re.compile(r"\w+")
_MOST: Final = 5
_EXCERPT: Final = 600


@cache
def pages() -> Mapping[str, str]:
    """Return the text of each page of the package's own guide by its slug."""
    return pages_in(files("florin_mcp") / "guide")


def pages_in(folder: Traversable) -> dict[str, str]:
    """Return the text of each Markdown file of a folder by its name without the end."""
    found = sorted((each for each in folder.iterdir() if each.name.endswith(".md")), key=lambda each: each.name)
    return {each.name.removesuffix(".md"): each.read_text(encoding="utf-8") for each in found}


def search(pages: Mapping[str, str], query: str) -> list[dict[str, str]]:
    """Return at most five sections that have words of the query: `slug`, `title` and `text`, the best first."""
    words = {each.lower() for each in _WORD.findall(query)}
    rated = [
        (_score(words, title, text), slug, title, text)
        for slug, page in pages.items()
        for title, text in _sections(page)
    ]
    best: Sequence[tuple[int, str, str, str]] = sorted(rated, key=lambda each: -each[0])[:_MOST]
    return [{"slug": slug, "title": title, "text": text[:_EXCERPT]} for score, slug, title, text in best if score > 0]


def _sections(page: str) -> Iterator[tuple[str, str]]:
    first, *others = _SECTION.split(page)
    title = first.partition("\n")[0].removeprefix("# ")
    yield title, first
    for each in others:
        heading = each.partition("\n")[0]
        yield f"{title}: {heading}", each


def _score(words: set[str], title: str, text: str) -> int:
    """Return how many of the words a section has; those of its title count three times."""
    inside, above = (set(_WORD.findall(each.lower())) for each in (text, title))
    return len(words & inside) + 3 * len(words & above)
