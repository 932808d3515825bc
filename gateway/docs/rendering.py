"""Markdown to HTML: headings with anchors, highlighted code, tabs for examples in several languages."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_LANGUAGES = {"sh": "curl", "python": "Python", "ts": "TypeScript", "js": "JavaScript", "php": "PHP", "go": "Go"}
# Wide tables scroll, also with the keyboard. An empty heading cell becomes an ordinary cell.
_TABLES = {"<table>": '<div class="table" tabindex="0"><table>', "</table>": "</table></div>", "<th></th>": "<td></td>"}
NOT_RUN = "not run: "
"""What the first line of a code block says after the language where no test runs it, before the reason."""

Link = Callable[[str], str | None]
IMAGES_URL: Final = "/docs/images/"


@dataclass(frozen=True)
class Heading:
    """A heading: its level, the anchor it has and its text, and the plain text below it up to the next one."""

    level: int
    anchor: str
    title: str
    text: str = ""


@dataclass(frozen=True)
class Rendered:
    """A page as HTML. `lead` is its first paragraph as plain text."""

    html: str
    headings: Sequence[Heading]
    lead: str


def render(text: str, *, link: Link) -> Rendered:
    """Render Markdown. `link` returns a link's address, or None to leave its words without a link."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    headings: list[Heading] = []
    texts: list[list[str]] = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            title = _plain(tokens[at + 1])
            anchor = anchor_of(title, taken={each.anchor for each in headings})
            token.attrSet("id", anchor)
            headings.append(Heading(int(token.tag[1]), anchor, title))
            texts.append([])
        elif token.type == "inline":
            _set_links(token, link)
            if texts and tokens[at - 1].type != "heading_open":
                texts[-1].append(_plain(token))
    found = [
        Heading(each.level, each.anchor, each.title, " ".join(words))
        for each, words in zip(headings, texts, strict=True)
    ]
    lead = next((_plain(tokens[at + 1]) for at, token in enumerate(tokens) if token.type == "paragraph_open"), "")
    return Rendered(_html(parser, tokens), found, lead)


def anchor_of(title: str, *, taken: set[str]) -> str:
    """Return a heading's anchor, derived as code hosts do; a duplicate gets a number."""
    base = re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
    anchor, number = base, 0
    while anchor in taken:
        number += 1
        anchor = f"{base}-{number}"
    return anchor


def _plain(token: Token) -> str:
    return "".join(
        child.content if child.type in {"text", "code_inline"} else " "
        for child in token.children or []
        if child.type in {"text", "code_inline", "softbreak"}
    )


def _set_links(inline: Token, link: Link) -> None:
    """Set the addresses of links and pictures on this site, and turn links without one into plain text."""
    kept: list[Token] = []
    open_links: list[bool] = []
    for child in inline.children or []:
        if child.type == "image":
            name = str(child.attrGet("src")).rsplit("/", 1)[-1]
            child.attrSet("src", f"{IMAGES_URL}{name}")
        if child.type == "link_open":
            address = link(str(child.attrGet("href")))
            open_links.append(address is not None)
            if address is not None:
                child.attrSet("href", address)
        is_dropped = child.type in {"link_open", "link_close"} and not open_links[-1]
        if child.type == "link_close":
            open_links.pop()
        if not is_dropped:
            kept.append(child)
    inline.children = kept


def _html(parser: MarkdownIt, tokens: Sequence[Token]) -> str:
    parts: list[str] = []
    at = 0
    while at < len(tokens):
        group = at
        while group < len(tokens) and tokens[group].type == "fence":
            group += 1
        if group > at:
            parts.append(_codes(tokens[at:group]))
            at = group
            continue
        following = at + 1
        while following < len(tokens) and tokens[following].type != "fence":
            following += 1
        parts.append(_with_wide_tables(parser, tokens[at:following]))
        at = following
    return "".join(parts)


def _with_wide_tables(parser: MarkdownIt, tokens: Sequence[Token]) -> str:
    options: Any = parser.options
    html: str = parser.renderer.render(tokens, options, {})
    for old, new in _TABLES.items():
        html = html.replace(old, new)
    return html


def _codes(fences: Sequence[Token]) -> str:
    """Return code blocks as HTML; several in a row are one example in several languages."""
    if len(fences) == 1:
        return _code(fences[0])
    blocks = "".join(
        f'<div class="tabs__panel" data-label="{escape(_label(fence))}">'
        f'<p class="tabs__label">{escape(_label(fence))}</p>{_code(fence)}</div>'
        for fence in fences
    )
    return f'<div class="tabs">{blocks}</div>'


def _label(fence: Token) -> str:
    name = fence.info.split(" ", 1)[0]
    return _LANGUAGES.get(name, name or "Text")


def _code(fence: Token) -> str:
    try:
        lexer = get_lexer_by_name(fence.info.split(" ", 1)[0] or "text", stripnl=False)
    except ClassNotFound:
        lexer = get_lexer_by_name("text", stripnl=False)
    inner: str = highlight(fence.content, lexer, HtmlFormatter(nowrap=True))
    code = f'<div class="code"><pre tabindex="0"><code>{inner}</code></pre></div>'
    reason = fence.info.partition(NOT_RUN)[2]
    return f"{code}{_note(reason)}" if reason else code


def _note(reason: str) -> str:
    return f'<p class="code-note">Not run by our tests: {escape(reason)}.</p>'
