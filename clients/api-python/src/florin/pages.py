"""Lists that are read page by page."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from florin.errors import NoAnswerError

T = TypeVar("T")
Query: TypeAlias = Mapping[str, Any]


class Pages(Generic[T]):
    """All objects of a list: `for checkout in florin.checkouts.list()`. `limit` is the size of a page, 100 if it was not given.

    Nothing is asked before it is iterated. What is created meanwhile neither repeats nor hides an object.
    """

    def __init__(self, ask: Callable[[Query], Any], query: Query) -> None:
        self._ask = ask
        self._query = dict(query)

    def page(self) -> Any:
        """Return one page as the API answers it: `data`, `limit`, `offset`, and `total` unless `include_total=False`."""
        return self._ask(self._query)

    def __iter__(self) -> Iterator[T]:
        """Yield each object; ask for the next page when the last one is used up. Raises FlorinError."""
        query: Query | None = first_query(self._query)
        while query is not None:
            page = self._ask(query)
            yield from objects_of(page)
            query = next_query(query, page)


def first_query(query: Query) -> Query:
    """Return what the first page is asked by."""
    return {"limit": 100, "include_total": False} | dict(query)


def objects_of(page: Mapping[str, Any]) -> list[Any]:
    """Return a page's objects. Raises NoAnswerError for what is no page."""
    found = page.get("data")
    if not isinstance(found, list):
        raise NoAnswerError("The answer is no page.")
    return found


def next_query(query: Query, page: Mapping[str, Any]) -> Query | None:
    """Return what the page after this one is asked by; None after the last. Raises NoAnswerError where it does not lead on."""
    found = objects_of(page)
    if len(found) < page.get("limit", 1):
        return None
    last = found[-1].get("id") if found else None
    if not last or last == query.get("starting_after"):
        raise NoAnswerError("The page does not say how to go on.")
    return {name: value for name, value in query.items() if name != "offset"} | {"starting_after": last}
