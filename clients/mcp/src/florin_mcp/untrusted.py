"""Text that others wrote is moved to a field of its own and cut. Mail addresses are left out of every answer."""

import json
import re
from collections.abc import Set
from typing import Any, Final

LONGEST: Final = 500
"""How many characters of a field others can fill an assistant reads."""
HIDDEN: Final = "[mail address]"

# A claim link says where a refund goes, so it is a secret of the buyer's.
_LEFT_OUT: Final = frozenset({"email", "customer_email", "claim_url"})
_MAIL: Final = re.compile(r"[\w.+%'-]{1,64}(?:@|%40)[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")


def marked(value: Any, names: Set[str]) -> Any:
    """Return JSON without mail addresses, and with the named fields of each object in its field `untrusted`, as cut text."""
    if isinstance(value, str):
        return _MAIL.sub(HIDDEN, value)
    if isinstance(value, list):
        return [marked(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {name: marked(each, names) for name, each in value.items() if name not in names and name not in _LEFT_OUT}
    theirs = {name: cut(each) for name, each in value.items() if name in names and each not in (None, "", [], {})}
    return kept | {"untrusted": theirs} if theirs else kept


def cut(value: Any) -> str:
    """Return a value as text without mail addresses, of at most `LONGEST` characters and a mark where it was cut."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = _MAIL.sub(HIDDEN, text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
