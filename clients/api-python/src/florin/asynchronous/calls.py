"""Calls and lists that are awaited. What is sent, repeated and read is decided where it is for those that wait (`florin.calls`)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, Protocol, Self, TypeVar, Unpack

from florin.calls import Asked, Given, Terms, answer_of
from florin.errors import FlorinError
from florin.pages import Query, first_query, next_query, objects_of
from florin.transport import Reply, Request

T = TypeVar("T")


class AsyncSender(Protocol):
    """What carries requests: give `AsyncFlorin` one of your own to use another HTTP library."""

    async def send(self, request: Request) -> Reply:
        """Send a request and return its whole response. Raises NoAnswerError."""


@dataclass(frozen=True, slots=True)
class AsyncCaller:
    """Sends calls, and awaits each answer."""

    sender: AsyncSender
    terms: Terms

    async def call(self, asked: Asked, *, raw: bool) -> Any:
        """Send a request, again where that is safe and may help, and return its answer. Raises FlorinError."""
        for number in count():
            try:
                return answer_of(await self.sender.send(asked.request), raw=raw)
            except FlorinError as error:
                if (pause := self.terms.pause(asked, error, number)) is None:
                    raise
            await asyncio.sleep(pause)
        raise AssertionError


class AsyncPages(Generic[T]):
    """All objects of a list: `async for checkout in florin.checkouts.list()`. `limit` is the size of a page, 100 if it was not given.

    Nothing is asked before it is iterated. What is created meanwhile neither repeats nor hides an object.
    """

    def __init__(self, ask: Callable[[Query], Awaitable[Any]], query: Query) -> None:
        self._ask = ask
        self._query = dict(query)

    async def page(self) -> Any:
        """Return one page as the API answers it: `data`, `limit`, `offset`, and `total` unless `include_total=False`."""
        return await self._ask(self._query)

    async def __aiter__(self) -> AsyncIterator[T]:
        """Yield each object; ask for the next page when the last one is used up. Raises FlorinError."""
        query: Query | None = first_query(self._query)
        while query is not None:
            page = await self._ask(query)
            for each in objects_of(page):
                yield each
            query = next_query(query, page)


class Resource:
    """Operations that share a path."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    @classmethod
    def of(cls, other: "Resource") -> Self:
        """Return the resource with the connections of another."""
        return cls(other._caller)  # noqa: SLF001 - its own kind

    async def _call(self, method: str, path: tuple[str, ...], *, raw: bool = False, **given: Unpack[Given]) -> Any:
        return await self._caller.call(self._caller.terms.asked(method, path, **given), raw=raw)

    def _pages(self, path: tuple[str, ...], query: Mapping[str, Any]) -> AsyncPages[Any]:
        return AsyncPages(lambda asked: self._call("GET", path, query=asked), query)
