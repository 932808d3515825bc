"""Words of texts: the expression of their indexes, and the newest rows of a merchant that have all words of a text.

A row's words are one tsvector of lexemes that begin with the merchant and the mode, such as `12lwalnut`. So one GIN index
serves all merchants, and a look-up reads the words of one merchant and mode only. Trigrams (`pg_trgm`) would find parts of
words too, but a row has some 35 of them where it has six words, and their index cannot begin with the merchant (decision
31). The expression has built-in immutable functions only: neither an extension nor a function of ours is needed.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from django.db import connection

RECENT: Final = 5_000
"""So many of a merchant's newest rows are read one by one: a frequent word is found there, however many rows have it."""

MOST_READ: Final = 10_000
"""So many rows beyond those are read at most; with more, the newest of those that were read are returned."""

_LONGEST: Final = 256
_MOST_WORDS: Final = 12
# A shorter beginning is that of too many words: beyond the newest rows it counts as a whole word.
_SHORTEST: Final = 3

# What separates words: white space and punctuation of ASCII, and usual marks of typography, as a class of regular
# expressions of both Python and PostgreSQL. All else belongs to words, whatever the database's collation knows of letters.
_MARKS: Final = r"[\t\n\r !-/:-@\[-`{-~\u00a0\u00ab\u00bb\u2013\u2014\u2018-\u201e\u2026\u3000-\u3002]+"

_MINE: Final = "merchant_id = %(merchant)s AND mode = %(mode)s"
_RECENTLY: Final = """
    SELECT id FROM (SELECT * FROM {table} WHERE {mine} ORDER BY id DESC LIMIT {recent}) recent
    WHERE {condition} ORDER BY id DESC LIMIT %(most)s
"""
# Planned as if all were read, so that an index of the condition is used; read only as far as the limit.
_EVER: Final = """
    WITH hits AS MATERIALIZED (SELECT id FROM {table} WHERE {mine} AND {condition})
    SELECT id FROM (SELECT id FROM hits LIMIT {read}) few ORDER BY id DESC LIMIT %(most)s
"""
# The words as the database makes them: its collation decides what the small letters are.
_QUERY: Final = """
    (SELECT string_agg('''' || word || '''' || CASE WHEN place = {prefixed} THEN ':*' ELSE '' END, ' & ')::tsquery
     FROM (SELECT %(merchant)s::bigint AS merchant_id, %(mode)s::varchar AS mode) asker,
          unnest({asked}) WITH ORDINALITY AS named (word, place))
"""


def lexemes(text: str) -> str:
    """Return the SQL of the array of a text's words, for a table with `merchant_id` and `mode`; `text` is SQL, too.

    It is part of indexes: another expression needs other indexes.
    """
    begin = "(merchant_id::text || left(mode, 1))"
    marked = f"regexp_replace(lower({text}), '{_MARKS}', ' ' || {begin}, 'g')"
    return f"array_remove(string_to_array({begin} || {marked}, ' '), {begin})"


def vector(text: str) -> str:
    """Return the SQL of a text's words as a tsvector, which GIN indexes have."""
    return f"array_to_tsvector({lexemes(text)})"


def words_in(text: str) -> list[str]:
    """Return the words of a text; none if it is too long to be a few words."""
    found = [word for word in re.split(_MARKS, text) if word] if len(text) <= _LONGEST else []
    return found if len(found) <= _MOST_WORDS else []


def newest_with_words(
    table: str, text: str, asked: str, *, merchant_id: int, mode: str, most: int, shown: str = ""
) -> list[int]:
    """Return the keys of a merchant's newest rows of a mode, `most` at most, that have all words of `asked`.

    The last word may be the beginning of one. `text` is the SQL of the indexed text; `shown`, if given, the SQL of the part
    of it that is searched.
    """
    words = words_in(asked)
    if not words:
        return []
    texts = [vector(text), vector(shown)] if shown else [vector(text)]
    values: dict[str, Any] = {"merchant": merchant_id, "mode": mode, "asked": " ".join(words)}
    values |= {f"word{place}": f"%{word}%" for place, word in enumerate(words)}
    # Most rows are left out by a comparison, which takes a tenth of the time of making their words.
    parts = [f"({text}) ILIKE %(word{place})s" for place in range(len(words))]
    begun = _matching(texts, prefixed=len(words))
    whole = begun if len(words[-1]) >= _SHORTEST else _matching(texts, prefixed=0)
    return newest_of(table, " AND ".join([*parts, begun]), values, most=most, ever=whole)


def _matching(texts: list[str], *, prefixed: int) -> str:
    query = _QUERY.format(prefixed=prefixed, asked=lexemes("%(asked)s::text"))
    return " AND ".join(f"{text} @@ {query}" for text in texts)


def newest_of(table: str, condition: str, values: Mapping[str, Any], *, most: int, ever: str = "") -> list[int]:
    """Return the keys of a merchant's newest rows of a mode, `most` at most, that meet a condition of SQL.

    `values` has `merchant`, `mode` and the condition's parameters. The newest `RECENT` rows are read one by one. If those
    that match are too few, an index finds what meets the condition `ever`, which is the same if it is empty.
    """
    given = dict(values) | {"most": most}
    found = _keys(_RECENTLY.format(table=table, mine=_MINE, condition=condition, recent=RECENT), given)
    if len(found) < most:
        found |= _keys(_EVER.format(table=table, mine=_MINE, condition=ever or condition, read=MOST_READ), given)
    return sorted(found, reverse=True)[:most]


def newest_ever(table: str, condition: str, values: Mapping[str, Any], *, most: int) -> list[int]:
    """Return the same by an index of the condition alone, for tables that no index lists by merchant and key."""
    statement = _EVER.format(table=table, mine=_MINE, condition=condition, read=MOST_READ)
    return sorted(_keys(statement, dict(values) | {"most": most}), reverse=True)


def _keys(statement: str, values: Mapping[str, Any]) -> set[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return {key for [key] in cursor}
