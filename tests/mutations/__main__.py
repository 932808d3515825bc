"""script/mutate: chooses mutations of the product by a seed, and counts those that the suite notices."""

import argparse
import ast
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tests.mutations.operators import Mutation, offered, units
from tests.mutations.plugin import CHOSEN, ROOT, WORK, chosen, reached

AREAS: Final = {
    "attribution": (35, "checkouts/attribution checkouts/exact checkouts/amounts.py checkouts/rescue"),
    "states": (25, "checkouts/states.py checkouts/lifecycle x402/states.py"),
    "money": (
        25,
        "gateway/core/money.py checkouts/amounts.py checkouts/creation checkouts/options.py links accounts/fees",
    ),
    "claims": (25, "x402/payments wallets/receiving wallets/transfers checkouts/inbox"),
    "x402 judging": (30, "x402/rules.py x402/byhash x402/exact"),
    "ledger": (20, "settlements/gas settlements/books wallets/reconciliation"),
    "sweeps": (20, "settlements/sweeps"),
    "outbox": (15, "webhooks/outbox webhooks/endpoints webhooks/payloads.py webhooks/selectors.py"),
    "sender": (20, "webhooks/delivery"),
    "keys": (15, "accounts/keys gateway/core/secrets.py accounts/team gateway/management/commands/rotate_keys.py"),
    "limits": (10, "gateway/core/api gateway/core/throttling.py gateway/server accounts/login"),
    "tenants": (
        15,
        "accounts/selectors.py checkouts/selectors.py links/selectors.py x402/selectors.py wallets/selectors.py reports",
    ),
    "watchers": (15, "wallets/watchers wallets/watched"),
    "decoders": (25, "wallets/chains"),
    "pages": (
        15,
        "checkouts/dashboard checkouts/page links/dashboard wallets/dashboard webhooks/dashboard settlements/dashboard",
    ),
}
"""How many mutations of each area, and where it lies: 310 places, of which a few are not to be found twice."""

SILENT_SECONDS: Final = 480.0
"""A session that has begun no test for so long hangs in native code, where no alarm reaches it."""


def main() -> None:
    """Run one of the three steps."""
    parser = argparse.ArgumentParser(prog="script/mutate", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    choose_step = steps.add_parser("choose", help="choose the mutations anew, into tests/mutations/chosen.json")
    choose_step.add_argument("--seed", type=int, default=35)
    reach_step = steps.add_parser("reach", help="run the tests once, and keep which of them reach which mutation")
    reach_step.add_argument("arguments", nargs="*", help="for pytest; before them --")
    run_step = steps.add_parser("run", help="run the tests that reach each mutation against it")
    run_step.add_argument("--jobs", type=int, default=2)
    run_step.add_argument("--only", type=int, nargs="*", help="numbers of mutations")
    arguments = parser.parse_args()
    if arguments.step == "choose":
        choose(arguments.seed)
    elif arguments.step == "reach":
        sys.exit(reach(arguments.arguments))
    else:
        run(arguments.jobs, arguments.only)


def choose(seed: int) -> None:
    """Choose from each area in turn of its files, so that long files do not take all."""
    rows: list[Mutation] = []
    for area, (count, places) in AREAS.items():
        draw = random.Random(f"{seed} {area}")
        by_file = [
            found for path in _files(places) if (found := offered(area, path, ast.parse((ROOT / path).read_text())))
        ]
        for found in by_file:
            draw.shuffle(found)
        draw.shuffle(by_file)
        taken: list[Mutation] = []
        while len(taken) < count and any(by_file):
            for found in by_file:
                if found and len(taken) < count:
                    taken.append(found.pop())
        rows += taken
    CHOSEN.write_text(json.dumps([asdict(row) for row in rows], indent=1, ensure_ascii=False) + "\n")
    print(f"{len(rows)} mutations in {len({row.path for row in rows})} modules")


def _files(places: str) -> list[str]:
    found = []
    for place in places.split():
        path = ROOT / place
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path] if path.exists() else []
    return [
        str(path.relative_to(ROOT)) for path in found if "migrations" not in path.parts and path.name != "__init__.py"
    ]


def relocate() -> None:
    """Write the path where each unit lies today, for a tree whose modules have moved."""
    where: dict[str, list[str]] = defaultdict(list)
    for path in _files(" ".join(sorted({row.path.split("/")[0] for row in chosen()}))):
        for name, _ in units(ast.parse((ROOT / path).read_text())):
            where[name].append(path)
    rows = []
    for row in chosen():
        places = where[row.unit]
        path = (
            row.path
            if row.path in places
            else next((p for p in places if p.split("/")[0] == row.path.split("/")[0]), row.path)
        )
        rows.append(asdict(row) | {"path": path})
    CHOSEN.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def reach(arguments: list[str]) -> int:
    """Run the tests with notes; return pytest's exit code."""
    relocate()
    for old in WORK.glob("reached-*.json"):
        old.unlink()
    return _pytest("reach", *(arguments or ["-n", "2", "--dist", "loadgroup", "-q"])).wait()


def run(jobs: int, only: list[int] | None) -> None:
    """Share the mutations out to `jobs` sessions; start one anew behind a mutation on which it hangs or dies."""
    WORK.mkdir(parents=True, exist_ok=True)
    numbers = only if only is not None else list(range(len(chosen())))
    results = WORK / "results.jsonl"
    done = (
        {row["number"]: row for row in map(json.loads, results.read_text().splitlines())}
        if results.exists() and only is None
        else {}
    )
    left = [number for number in numbers if number not in done]
    running = [_Job(job, left[job::jobs]) for job in range(jobs)]
    while any(job.is_running() for job in running):
        time.sleep(2)
    for job in running:
        done |= job.rows
        with results.open("a") as out:
            out.writelines(json.dumps(row) + "\n" for row in job.rows.values())
    report(done)


class _Job:
    def __init__(self, number: int, left: list[int]) -> None:
        self.rows: dict[int, dict[str, object]] = {}
        self._file, self._left = WORK / f"job-{number}.json", left
        self._out = self._file.with_suffix(".out")
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes] | None:
        if not self._left:
            return None
        self._out.write_text("")
        self._file.write_text(json.dumps(self._left))
        tests = {test.split("::")[0] for number in self._left for _, test in reached().get(number, [])}
        return _pytest("run", "-q", "-p", "no:cacheprovider", *sorted(tests), job=self._file)

    def is_running(self) -> bool:
        """Look once; start anew where the session ended, or fell silent, before its last mutation."""
        if self._process is None:
            return False
        is_silent = time.time() - self._out.stat().st_mtime > SILENT_SECONDS
        if self._process.poll() is None:
            if not is_silent:
                return True
            self._process.kill()
            self._process.wait()
        rows = [json.loads(line) for line in self._out.read_text().splitlines()]
        if not rows:
            raise SystemExit(f"no test could run: see {self._file.with_suffix('.log')}")
        self.rows |= {row["number"]: row for row in rows if "verdict" in row}
        if (last := rows[-1]["number"]) not in self.rows:
            self.rows[last] = {"number": last, "verdict": "killed", "by": "a session that hung or died"}
        self._left = [number for number in self._left if number not in self.rows]
        self._process = self._started()
        return self._process is not None


def _pytest(mode: str, *arguments: str, job: Path | None = None) -> subprocess.Popen[bytes]:
    environment = os.environ | {"FLORIN_MUTATIONS": mode} | ({"FLORIN_MUTATIONS_JOB": str(job)} if job else {})
    argv = [sys.executable, "-m", "pytest", "-p", "tests.mutations.plugin", *arguments]
    out = job.with_suffix(".log").open("w") if job else None
    return subprocess.Popen(argv, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT if out else None)


def report(done: dict[int, dict[str, object]]) -> None:
    """Write var/mutations/results.md: a table by area, then each mutation with what became of it."""
    mutations = chosen()
    verdicts = sorted({str(row["verdict"]) for row in done.values()})
    counts = Counter((mutations[number].area, row["verdict"]) for number, row in done.items())
    lines = [f"| area | {' | '.join(verdicts)} |", f"|---|{'---:|' * len(verdicts)}"]
    lines += [f"| {area} | {' | '.join(str(counts[area, v]) for v in verdicts)} |" for area in AREAS]
    totals = Counter(str(row["verdict"]) for row in done.values())
    lines += [f"| all | {' | '.join(str(totals[v]) for v in verdicts)} |", ""]
    for number, row in sorted(done.items()):
        lines.append(f"{number}. {row['verdict']}: `{mutations[number].name}` {row.get('by', '')}")
    (WORK / "results.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines[: len(AREAS) + 3]))


if __name__ == "__main__":
    main()
