"""Pytest plugin: a test of the standard run that takes over a second fails, unless tests/slow.toml lists it with the reason.

`script/test` asks for it by `FLORIN_SLOW_FAILS`. Only the call counts, not what fixtures set up. A second is one of a quiet
host; a busy or slow one makes the rule milder and never stricter, so that no test fails by chance:

- What a test computed is processor time, of this process and of children that it waited for.
- What it waited for is time by the clock, less that in which anything here was kept from a processor, a disk or memory, as
  Linux tells, or in which other machines had this one's processors. Where nobody tells, waiting is not counted.
- Both are divided by how much slower this host runs a loop than the one where the limits were set: it mostly waited for the
  database, which computes here too. The loop is run again after a test that seems too slow.
- Measures of one test differ by half, between hosts by more: three times the limit is forgiven.
"""

import os
import time
import tomllib
from collections.abc import Generator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import pytest

from tests.night import around

LIMIT_SECONDS: Final = 1.0
FORGIVEN: Final = 3.0
MOST_LISTED: Final = 40
FILE = Path(__file__).with_name("slow.toml")
LOOP_SECONDS: Final = 0.005
"""Processor time of `_loop` on the host where the limits were set."""

_PRESSURES: Final = Path("/proc/pressure")
_TICKS: Final = Path("/proc/stat")


@dataclass(frozen=True)
class Moment:
    """The clocks at a moment, in seconds: the wall's, the processor's, and for how long somebody was held up."""

    wall: float
    processor: float
    held_up: float

    @classmethod
    def now(cls) -> "Moment":
        """Read the clocks."""
        used = os.times()
        return cls(time.perf_counter(), sum(used[:4]), _held_up())

    @classmethod
    def before(cls) -> "Moment":
        """Read the clocks before a test. Linux is asked once a second, not before each of thousands: at most, more time is forgiven."""
        used = os.times()
        return cls(time.perf_counter(), sum(used[:4]), _held_up_in(int(time.monotonic())))

    def seconds_since(self, before: "Moment", *, slowness: float) -> float:
        """What a quiet host would have taken at least, the forgiven part taken off. `slowness`: 1 for the host of the limits."""
        wall = self.wall - before.wall
        computed = min(self.processor - before.processor, wall)
        waited = wall - (self.held_up - before.held_up)
        return max(computed, waited) / max(slowness, 1.0) / FORGIVEN


def slowness() -> float:
    """How many times longer this host computes than the one of the limits, at its best of a few times."""
    return min(_loop() for _ in range(5)) / LOOP_SECONDS


def listed() -> dict[str, str]:
    """The tests, and modules and folders of them, that may take longer, and why."""
    found: dict[str, str] = tomllib.loads(FILE.read_text())
    return found


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that passed and took too long."""
    before = Moment.before()
    result = yield
    if os.environ.get("FLORIN_SLOW_FAILS") and time.perf_counter() - before.wall > LIMIT_SECONDS * FORGIVEN:
        seconds = Moment.now().seconds_since(before, slowness=slowness())
        test = item.nodeid.partition("[")[0]
        if seconds > LIMIT_SECONDS and listed().keys().isdisjoint(around(test)):
            pytest.fail(
                f"{test} took more than {seconds:.1f} s. Make it faster, put it at night (tests/night.py),"
                f" or list it with a reason in {FILE.name}.",
                pytrace=False,
            )
    return result


def _loop() -> float:
    began = time.process_time()
    total = 0
    for number in range(200_000):
        total += number % 7
    return time.process_time() - began


@lru_cache(maxsize=1)
def _held_up_in(second: int) -> float:
    return _held_up()


def _held_up() -> float:
    try:
        told = [(_PRESSURES / name).read_text() for name in ("cpu", "io", "memory")]
        stolen = int(_TICKS.read_text().split(maxsplit=9)[8]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        # As if all the time: waiting does not count.
        return time.perf_counter()
    return sum(int(each.split("total=")[1].split()[0]) for each in told) / 1e6 + stolen
