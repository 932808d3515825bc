"""Turns rounds into medians and ratios, prints them and stores them."""

import json
import os
import platform
import statistics
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


@dataclass(slots=True)
class Series:
    """The rounds of one contender, and its control's figure."""

    name: str
    unit: str
    rounds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The figure to quote."""
        return statistics.median(self.rounds)


def ratio(series: Series, control: Series) -> float:
    """Median of the ratios round by round, which hold when the machine's speed drifts."""
    pairs = zip(series.rounds, control.rounds, strict=True)
    return statistics.median(value / base for value, base in pairs if base)


@dataclass(slots=True)
class Claim:
    """A required figure, and the measured one. `wanted` is the minimum, or the maximum if `at_most`."""

    name: str
    seen: float
    wanted: float
    at_most: bool = False

    @property
    def met(self) -> bool:
        """Whether the measured figure meets the required one."""
        return self.seen <= self.wanted if self.at_most else self.seen >= self.wanted


@dataclass(slots=True)
class Report:
    """One benchmark's outcome."""

    name: str
    series: list[Series]
    claims: list[Claim]
    notes: list[str] = field(default_factory=list)

    def print(self) -> None:
        """Write the outcome for a person."""
        print(f"\n{self.name}")
        for series in self.series:
            low, high = min(series.rounds), max(series.rounds)
            print(f"  {series.name:<34} {series.median:>12,.1f} {series.unit}  [{low:,.1f} - {high:,.1f}]")
        for claim in self.claims:
            sign = "<=" if claim.at_most else ">="
            verdict = "met" if claim.met else "NOT MET"
            print(f"  {claim.name:<60} {claim.seen:>10,.3f} {sign} {claim.wanted:<8g} {verdict}")
        for note in self.notes:
            print(f"  note: {note}")

    def save(self) -> None:
        """Store the outcome in benchmarks/results, with the machine's description."""
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.name.replace(',', '').replace(' ', '-')}.json"
        path.write_text(json.dumps(self._as_json(), indent=1) + "\n")

    def _as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "run_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "series": [
                {
                    "name": s.name,
                    "unit": s.unit,
                    "median": round(s.median, 3),
                    "rounds": [round(r, 3) for r in s.rounds],
                }
                for s in self.series
            ],
            "claims": [
                {"name": c.name, "seen": round(c.seen, 4), "wanted": c.wanted, "at_most": c.at_most, "met": c.met}
                for c in self.claims
            ],
            "notes": self.notes,
        }


def machine() -> dict[str, Any]:
    """Return the description of the machine."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor()
    lines = (line for line in info.read_text().splitlines() if line.startswith("model name"))
    return next(lines, "unknown").partition(":")[2].strip()
