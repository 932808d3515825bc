"""Many cases in one test, where what they need takes longer to make than a case: each is named where it fails.

What a case writes, and what the process remembers of it, is gone before the next one begins.
"""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from accounts.keys.authentication import key_cache
from gateway.core import valkey
from gateway.core.api import rate_limits
from gateway.core.web import request_times
from rates import selectors as rates
from wallets import selectors

_numbers = itertools.count(1)


def forget() -> None:
    """Reset Valkey's state, and what the process remembers of keys, wallets, chains, rates and requests."""
    key_cache.clear()
    selectors.forget()
    rates.forget()
    valkey._breaker.closed_again_at = 0.0
    # Or those who ask from one address within a minute would use up each other's requests.
    rate_limits.NAMESPACE = f"rate-{next(_numbers)}"
    # Of every route that a worker ever asked there is a histogram, and a scrape writes all of them. What is in files cannot be cleared.
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        request_times.SECONDS.clear()


@contextmanager
def case(*words: object) -> Iterator[None]:
    """Name a case in the failure of its block."""
    try:
        yield
    except BaseException as error:
        if words:
            error.add_note(f"In the case: {', '.join(map(str, words))}.")
        raise


@contextmanager
def undone(*words: object) -> Iterator[None]:
    """A case whose block writes within a test's own transaction: roll that back, and forget it."""
    with case(*words), transaction.atomic():
        yield
        transaction.set_rollback(True)
    forget()
