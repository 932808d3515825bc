"""The message catalogues: reading what templates and code say, keeping the files in step, compiling them.

Babel reads and compiles, so that nobody needs the gettext programs; `script/messages` is the command.
"""

import io
import re
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import django
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation import to_locale
from django.utils.translation.template import templatize

from tests.exhaustive import EXHAUSTIVE
from tests.tree import ROOT, relative, repository_files

LOCALE: Final = ROOT / "locale"
# Django's names for gettext, and one of ours, and which of their arguments are messages; "c" marks a context.
_KEYWORDS: Final[dict[str, Any]] = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "pgettext_noop": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "npgettext_lazy": ((1, "c"), 2, 3),
}
TEAM_CONTEXT: Final = "team"
"""Marks a message of the dashboard in code that others use as well, and a word that other catalogues have in another sense."""
# In any code: what has that context, and what is written as the word of a badge, which translates it when it is shown.
_TEAM_KEYWORDS: Final[dict[str, Any]] = {
    **{name: spec for name, spec in _KEYWORDS.items() if name.startswith(("p", "np"))},
    "Badge": None,
}
# Whose pages are not buyers': those of people who log in have catalogues of their own, the rest is English.
_NOT_BUYERS: Final = (
    "templates/account/",
    "templates/admin/",
    "templates/dashboard/",
    "templates/gateway/docs/",
    # Owners read these while they connect a shop plugin.
    "templates/greenfield/",
    "templates/mfa/",
    "templates/gateway/operator/",
    # It is saved and kept, for whoever checks a receipt years later.
    "templates/gateway/verify.html",
)
_CODE: Final = ("gateway/", "mails/", "accounts/", "wallets/", "checkouts/", "links/", "payouts/")
_PRODUCT: Final = (*_CODE, "notices/", "rates/", "reports/", "settlements/", "webhooks/", "x402/")
# Templates and code of the pages where people log in, and of their mails.
_LOGIN: Final = (
    "templates/account/",
    "templates/mfa/",
    "templates/dashboard/parts/copy.html",
    "templates/dashboard/parts/field.html",
    "accounts/errors.py",
    "accounts/login/",
)
# Templates and code of the dashboard, and of mails and notices to its people.
_DASHBOARD: Final = (
    "templates/dashboard/",
    "accounts/brand/",
    "accounts/keys/",
    "accounts/requests/",
    "accounts/team/",
    "accounts/words.py",
    "checkouts/inbox/",
    "notices/",
    "wallets/receiving/",
    *(f"{app}/dashboard/" for app in ("accounts", "checkouts", "gateway", "links", "payouts", "rates")),
    *(f"{app}/dashboard/" for app in ("settlements", "wallets", "webhooks", "x402")),
    "reports/",
)
# Whatever a translation must say as the original does: placeholders, and the names of tags with their attributes.
_FIXED: Final = re.compile(r"%\(\w+\)[sd]|%%|\{[^{}]*\}|</?[a-z][^>]*>")
# Templates trust a translation: a quote ends the attribute that it is in, and the others begin tags and characters.
_MARKUP: Final = '"<>&'
# A form of Django's `date`: letters that stand alone, such as "j M Y, H:i".
_DATE_FORM: Final = re.compile(r"[DFHMYdijlnst](?:[ ,:]+[DFHMYdijlnst])+")
_ESCAPED: Final = re.compile(r"\\.")
_LETTER: Final = re.compile(r"[A-Za-z]")
# A month is a word or a number, and a day has a zero or none, as a language writes dates.
_SAME_PART: Final = str.maketrans("Mnd", "FFj")
# First strong isolate and its end: between them a text has a direction of its own (Unicode Standard Annex 9).
_ISOLATE: Final = ("\u2068", "\u2069")
# Left to right, right to left, by the first strong character.
_ISOLATES: Final = "\u2066\u2067\u2068"
# An end without its own start belongs to a wider isolate, such as that of an amount with its token.
_PLACEHOLDER: Final = re.compile("(\u2068)?(%\\(\\w+\\)[sd])(?(1)\u2069?)")
# A price runs from left to right in every language: "$25", not "25$".
_PRICE: Final = re.compile("(\u2066)?(\\$\u2068%\\(\\w+\\)s\u2069)(?(1)\u2069?)")


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads some messages: where their catalogues are, in which languages, and which files have the messages.

    `reads_team`: they read those of `TEAM_CONTEXT` and of badges too, in whatever file.
    """

    folder: Path
    codes: tuple[str, ...]
    files: tuple[str, ...]
    others: tuple[str, ...] = ()
    reads_team: bool = False

    def read(self, name: str) -> bool:
        """Whether they read what a file says."""
        return name.startswith(self.files) and not name.startswith(self.others)


BUYERS: Final = Readers(
    LOCALE,
    tuple(code for code, _ in settings.LANGUAGES if code != "en"),
    ("templates/", *_CODE),
    (*_NOT_BUYERS, *_LOGIN, *_DASHBOARD),
)
PEOPLE: Final = Readers(LOCALE / "login", tuple(settings.LOGIN_LANGUAGES), _LOGIN)
TEAM: Final = Readers(LOCALE / "dashboard", tuple(settings.DASHBOARD_LANGUAGES), _DASHBOARD, _LOGIN, reads_team=True)
ALL: Final = (BUYERS, PEOPLE, TEAM)

_ONE_OF_EACH: Final = ("en", "ru", "ar", "hi", "zh-hans")
LOOKED_AT: Final = [code for code, _ in settings.LANGUAGES if EXHAUSTIVE or code in _ONE_OF_EACH]
"""The languages that a page is loaded in, where it is loaded in each: by day one of each kind.

The others' catalogues are whole, with the same placeholders. Of these Russian writes decimals with a comma, Arabic begins at the right,
Hindi takes the most bytes, and Chinese has no spaces.
"""

_MO_MAGIC: Final = 0x950412DE
# Magic, revision, count, where the tables of originals and of translations are, size and place of a hash table.
_MO_HEADER: Final = struct.Struct("<7I")


def languages(readers: Readers = BUYERS) -> list[str]:
    """The codes of the languages that have a catalogue: of buyers, all but the one the messages are written in."""
    return list(readers.codes)


def catalogue_path(code: str, suffix: str = ".po", readers: Readers = BUYERS) -> Path:
    """Where the catalogue of a language is."""
    return readers.folder / to_locale(code) / "LC_MESSAGES" / f"django{suffix}"


def read_catalogue(code: str, readers: Readers = BUYERS) -> Catalog:
    """Read a language's catalogue; an empty one where there is none yet."""
    path = catalogue_path(code, readers=readers)
    if not path.exists():
        return Catalog(locale=to_locale(code), domain="django", charset="utf-8")
    with path.open("rb") as file:
        return read_po(file, locale=to_locale(code), domain="django", abort_invalid=True)


def used_messages(readers: Readers = BUYERS) -> Catalog:
    """Every message that templates and code ask for, in the order of their files."""
    catalogue = Catalog(domain="django", charset="utf-8")
    for name, message, comments, context in _found(readers):
        catalogue.add(
            message,
            locations=[(name, None)],  # type: ignore[list-item]
            auto_comments=comments,
            context=context,
        )
    return catalogue


@cache
def _found(readers: Readers) -> list[tuple[str, Any, list[str], str | None]]:
    """Each message with its file, what is said to translators, and its context."""
    found = [
        (name, message, comments, context)
        for name, source in _sources(readers)
        for message, comments, context in _messages_in(source, _KEYWORDS)
        if context != TEAM_CONTEXT or (readers.reads_team and not name.endswith(".py"))
    ]
    return found + _found_anywhere() if readers.reads_team else found


def _found_anywhere() -> list[tuple[str, Any, list[str], str | None]]:
    """Each message of `TEAM_CONTEXT`, and each word of a badge."""
    marks = f'"{TEAM_CONTEXT}"', "Badge("
    sources = ((relative(path), path.read_text()) for path in repository_files(".py"))
    return [
        (name, message, comments, context)
        for name, source in sources
        if name.startswith(_PRODUCT) and any(mark in source for mark in marks)
        for message, comments, context in _messages_in(source, _TEAM_KEYWORDS)
        if context in {TEAM_CONTEXT, None}
    ]


def _messages_in(source: str, keywords: dict[str, Any]) -> Iterator[tuple[Any, list[str], str | None]]:
    found = extract("python", io.BytesIO(source.encode()), keywords, ["Translators:"])
    return ((message, comments, context) for _, message, comments, context in found if message)


def _sources(readers: Readers) -> Iterator[tuple[str, str]]:
    for path in repository_files(".html", ".txt"):
        name = relative(path)
        if name.startswith("templates/") and readers.read(name):
            yield name, _as_python(path.read_text(), name)
    for path in repository_files(".py"):
        name = relative(path)
        if readers.read(name) and "migrations" not in path.parts:
            yield name, path.read_text()


def is_for_buyers(name: str) -> bool:
    """Whether a file is a template that buyers, or readers of their mails, may see."""
    return name.startswith("templates/") and BUYERS.read(name)


def _as_python(template: str, name: str) -> str:
    """Return what a reader of Python finds a template's messages in; indented like HTML it would be no Python."""
    lines = templatize(template, origin=name).splitlines()
    return "\n".join(line.lstrip() for line in lines)


def updated(code: str, readers: Readers = BUYERS) -> Catalog:
    """A language's catalogue with all messages used now and no others; new ones are empty."""
    catalogue = read_catalogue(code, readers)
    catalogue.update(used_messages(readers), no_fuzzy_matching=True)
    catalogue.obsolete.clear()
    if code in settings.LANGUAGES_BIDI:
        for message in _messages(catalogue):
            message.string = isolated(message.string)
    return catalogue


def isolated(string: Any) -> Any:
    """Put what stands in a placeholder between isolates: a shop's Latin name must not reorder an Arabic or Persian sentence."""
    if not isinstance(string, str):
        return tuple(map(isolated, string or ()))
    start, end = _ISOLATE
    placed = _PLACEHOLDER.sub(rf"{start}\2{end}", string)
    return _PRICE.sub(f"\u2066\\2{end}", placed)


def po_text(catalogue: Catalog) -> bytes:
    """The catalogue as it is kept: no dates, no line numbers, nothing else that changes by itself."""
    buffer = io.BytesIO()
    write_po(buffer, catalogue, width=110, include_lineno=False, omit_header=True)
    lines = "".join(f'"{line}\\n"\n' for line in _header(catalogue).splitlines())
    head = f'# docs/guide/languages.md tells how to translate.\nmsgid ""\nmsgstr ""\n{lines}\n'
    return head.encode() + buffer.getvalue()


def mo_bytes(catalogue: Catalog) -> bytes:
    """The catalogue as the product reads it (GNU gettext manual, "The Format of GNU MO Files").

    Not by Babel's writer, which puts the time and its own version into the file.
    """
    texts = {b"": _header(catalogue).encode()}
    for message in _messages(catalogue):
        if message.string and all(message.string):
            context = f"{message.context}\x04" if message.context else ""
            texts[(context + _joined(message.id)).encode()] = _joined(message.string).encode()
    originals, strings = zip(*sorted(texts.items()), strict=True)
    first = _MO_HEADER.size + 16 * len(texts)
    table, data = b"", b""
    for text in (*originals, *strings):
        table += struct.pack("<II", len(text), first + len(data))
        data += text + b"\0"
    places = (_MO_HEADER.size, _MO_HEADER.size + 8 * len(texts), 0, first)
    return _MO_HEADER.pack(_MO_MAGIC, 0, len(texts), *places) + table + data


def _joined(texts: Any) -> str:
    """A message and its plurals as one text."""
    return texts if isinstance(texts, str) else "\0".join(texts)


def _header(catalogue: Catalog) -> str:
    return (
        f"Language: {catalogue.locale}\n"
        "Content-Type: text/plain; charset=utf-8\n"
        f"Plural-Forms: {catalogue.plural_forms}\n"
    )


def _messages(catalogue: Catalog) -> list[Message]:
    return [message for message in catalogue if message.id]


def faults(code: str, readers: Readers = BUYERS) -> list[str]:
    """What is wrong with a language's catalogue as it is kept, a sentence for each message."""
    return catalogue_faults(read_catalogue(code, readers), code, readers)


def catalogue_faults(catalogue: Catalog, code: str, readers: Readers = BUYERS) -> list[str]:
    """What is wrong with a catalogue of a language."""
    kept, used = _keys(catalogue), _keys(used_messages(readers))
    return [
        *(f"missing: {key}" for key in used if key not in kept),
        *(f"nobody says: {key}" for key in kept if key not in used),
        *(
            f"{fault}: {message.id}"
            for message in _messages(catalogue)
            for fault in message_faults(message, catalogue.num_plurals, code)
        ),
    ]


def _keys(catalogue: Catalog) -> list[tuple[str | None, Any]]:
    return [(message.context, message.id) for message in _messages(catalogue)]


def message_faults(message: Message, plurals: int, code: str) -> Iterator[str]:
    """What is wrong with one message of a language that has so many plural forms."""
    originals, strings = _forms(message.id), _forms(message.string)
    if message.fuzzy:
        yield "uncertain"
    if not all(text.strip() for text in strings):
        yield "not translated"
        return
    if len(strings) != (plurals if message.pluralizable else 1):
        yield "not as many forms as the language has"
    allowed = [_fixed(text) for text in originals]
    if any(_fixed(text) not in allowed for text in strings):
        yield "other placeholders or tags"
    if any(text.count(mark) > max(one.count(mark) for one in originals) for text in strings for mark in _MARKUP):
        yield "markup that the original does not have"
    if any(map(_DATE_FORM.fullmatch, originals)) and any(_parts(text) != _parts(originals[0]) for text in strings):
        yield "not a form of the same date"
    if code in settings.LANGUAGES_BIDI and isolated(message.string) != message.string:
        yield "a placeholder that is not isolated"
    if any(_open_isolates(text) for text in strings):
        yield "an isolate that is not closed"


def _parts(form: str) -> list[str]:
    """Which parts of a date a form of `date` has, without their order; the words of a language in it are escaped."""
    return sorted(_LETTER.findall(_ESCAPED.sub("", form).translate(_SAME_PART)))


def _open_isolates(text: str) -> int:
    """How many isolates of a text have no end: all words after one would run in its direction."""
    return sum(text.count(start) for start in _ISOLATES) - text.count(_ISOLATE[1])


def _forms(texts: Any) -> tuple[str, ...]:
    return (texts or "",) if not isinstance(texts, tuple) else texts


def _fixed(text: str) -> list[str]:
    return sorted(_FIXED.findall(text))


def write_all() -> None:
    """Bring every catalogue up to date and compile it; say what is left to translate."""
    for readers in ALL:
        for code in languages(readers):
            catalogue = updated(code, readers)
            path = catalogue_path(code, readers=readers)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(po_text(catalogue))
            catalogue_path(code, ".mo", readers).write_bytes(mo_bytes(read_catalogue(code, readers)))
            left = [fault for fault in faults(code, readers) if fault.startswith("not translated")]
            sys.stdout.write(f"{relative(path)}: {len(left)} of {len(catalogue)} to translate\n")


def main(arguments: Sequence[str]) -> int:
    """Write the catalogues, or with `--check` say what is wrong with them. Returns the exit code."""
    django.setup()
    if list(arguments) != ["--check"]:
        write_all()
        return 0
    found = [
        f"{relative(catalogue_path(code, readers=readers))}: {fault}"
        for readers in ALL
        for code in languages(readers)
        for fault in faults(code, readers)
    ]
    sys.stdout.write("".join(f"{fault}\n" for fault in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
