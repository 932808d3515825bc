"""Lists that are read page by page."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from florin.errors import NoAnswerError

T = TypeVar("T")


class Pages(Generic[T]):
    """All objects of a list: `for checkout in florin.checkouts.list()`. `limit` is the size of a page, 100 if it was not given.

    Nothing is asked before it is iterated. What is created meanwhile neither repeats nor hides an object.
    """

    def __init__(self, ask: Callable[[Mapping[str, Any]], Any], query: Mapping[str, Any]) -> None:
        self._ask = ask
        self._query = dict(query)

    def page(self) -> Any:
        """Return one page as the API answers it: `data`, `limit`, `offset`, and `total` unless `include_total=False`."""
        return self._ask(self._query)

    def __iter__(self) -> Iterator[T]:
        """Yield each object; ask for the next page when the last one is used up. Raises FlorinError."""
        query = {"limit": 100, "include_total": False} | self._query
        while True:
            page = self._ask(query)
            found = page.get("data")
            if not isinstance(found, list):
                raise NoAnswerError("The answer is no page.")
            yield from found
            if len(found) < page.get("limit", 1):
                return
            last = found[-1].get("id") if found else None
            if not last or last == query.get("starting_after"):
                raise NoAnswerError("The page does not say how to go on.")
            query = {name: value for name, value in query.items() if name != "offset"} | {"starting_after": last}
