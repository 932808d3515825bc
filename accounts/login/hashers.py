"""Password hashing: Argon2id, a few at a time, in separate threads.

A hash costs memory, and anyone can trigger one with the login form. So a process makes at most four at once; a caller that
waits two seconds gets 429. Separate threads return the memory to the next hash; web threads would each keep some.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoTurnError
from typing import Final, TypeVar

from django.contrib.auth.hashers import Argon2PasswordHasher

from gateway.core.api.errors import RateLimitError

T = TypeVar("T")

WAIT_SECONDS: Final = 2.0
_RETRY_SECONDS: Final = 2

_present: Final = ThreadPoolExecutor(3, thread_name_prefix="hash")
# Hashes made before 0.25 take 100 MB each, so they are verified one at a time.
_older: Final = ThreadPoolExecutor(1, thread_name_prefix="older-hash")


class LimitedArgon2Hasher(Argon2PasswordHasher):
    """Argon2id with OWASP's parameters (19 MiB, two passes, one lane) and a limit on hashes at once.

    Django replaces a hash made with other parameters when its owner logs in.
    """

    time_cost = 2
    memory_cost = 19_456
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        """Return the hash. Raises RateLimitError."""
        return _in_turn(_present, lambda: super(LimitedArgon2Hasher, self).encode(password, salt))

    def verify(self, password: str, encoded: str) -> bool:
        """Return whether the password matches. Raises RateLimitError."""
        is_larger = self.decode(encoded)["memory_cost"] > self.memory_cost
        pool = _older if is_larger else _present
        return _in_turn(pool, lambda: super(LimitedArgon2Hasher, self).verify(password, encoded))


def _in_turn(pool: ThreadPoolExecutor, make: Callable[[], T]) -> T:
    asked = pool.submit(make)
    try:
        return asked.result(timeout=WAIT_SECONDS)
    except NoTurnError:
        if asked.cancel():
            raise RateLimitError(_RETRY_SECONDS) from None
        # The work had already started, so its result is used.
        return asked.result()
