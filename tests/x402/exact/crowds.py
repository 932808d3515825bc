"""Asking at the same moment."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connection

T = TypeVar("T")


def together(*asked: Callable[[], T]) -> list[T]:
    """Ask all of it at the same time, on a connection each."""

    def ask(one: Callable[[], T]) -> T:
        try:
            return one()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(asked)) as threads:
        return list(threads.map(ask, asked))
