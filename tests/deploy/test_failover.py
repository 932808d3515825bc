"""A Florin on several machines goes on when one dies, and loses and doubles no checkout that it accepted."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.deploy.failover import __main__ as failover
from tests.deploy.failover.__main__ import missing
from tests.deploy.failover.cluster import Cluster, StartError
from tests.deploy.failover.judging import Window, doubled, longest_gap, lost, percentile_99, waits
from tests.deploy.failover.load import Order
from tests.tree import ROOT

ACCEPTED = [
    Order("a", began=1.0, accepted=1.5, public_id="chk_1"),
    Order("b", began=2.0, accepted=9.0, public_id="chk_2"),
    Order("c", began=3.0),
]
KEPT = [("a", "chk_1"), ("b", "chk_2")]
_LONGEST_OUTAGE = 120.0


@pytest.mark.faults
@pytest.mark.slow
@pytest.mark.unmeasured
def test_no_accepted_checkout_is_lost_or_doubled_when_the_primary_dies(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    if lacking := missing():
        pytest.skip(f"this machine lacks {'; '.join(lacking)}")
    file = tmp_path / "report.json"
    command = ("-m", "tests.deploy.failover", "primary", "--brief", "--report")
    done = subprocess.run([sys.executable, *command, file], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"[-20_000:]
    report = json.loads(file.read_text())
    calm, killed = report["lines"]
    record_property("seconds without a new checkout", killed["creation"])
    assert (report["lost"], report["doubled"]) == ([], [])
    # It was the primary that died: creation stood as long as its successor needs to be sure. The aim is 25 seconds, and 19 to 24 were
    # measured (docs/studies/failover.md). A busy machine may take longer.
    assert calm["creation"] < killed["creation"] < _LONGEST_OUTAGE
    assert calm["accepted"] > 0
    assert killed["accepted"] > 0
    assert report["paid"] > 0


@pytest.mark.parametrize("error", [OSError("no bridge"), KeyboardInterrupt()])
def test_a_cluster_that_does_not_start_ends_what_was_started(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ended: list[str] = []

    def start(cluster: Cluster) -> None:
        cluster._exits.callback(ended.append, "the machines")
        raise error

    monkeypatch.setattr(Cluster, "_start_parts", start)
    expected = StartError if isinstance(error, Exception) else type(error)
    with pytest.raises(expected), Cluster(tmp_path):
        raise AssertionError("it did not start")
    assert ended == ["the machines"]


def test_a_failed_start_is_told_with_the_logs_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    homes: list[Path] = []

    def start(cluster: Cluster) -> None:
        homes.append(cluster.home)
        (cluster.home / "db1-etcd.log").write_text("the port is in use")
        raise TimeoutError("no leader")

    monkeypatch.setattr(Cluster, "_start_parts", start)
    monkeypatch.setattr(failover, "missing", list)
    monkeypatch.setenv("FLORIN_FAILOVER_INSIDE", "1")
    assert failover.main(["primary"]) == 1
    told = capsys.readouterr().err
    assert "the port is in use" in told
    assert "The machines did not start: no leader" in told
    assert "Mend what the one that failed says" in told
    assert not homes[0].exists()


def test_an_accepted_checkout_that_is_not_in_the_database_is_lost() -> None:
    assert lost(ACCEPTED, KEPT) == []
    assert lost(ACCEPTED, KEPT[:1]) == ["b"]


def test_an_order_of_another_checkout_than_the_accepted_one_is_lost() -> None:
    assert lost(ACCEPTED, [("a", "chk_1"), ("b", "chk_3")]) == ["b"]


def test_an_order_with_two_checkouts_is_doubled() -> None:
    assert doubled(KEPT) == []
    assert doubled([*KEPT, ("a", "chk_3")]) == ["a"]


def test_the_longest_gap_is_that_inside_the_window() -> None:
    window = Window(began=10.0, ended=20.0)
    assert longest_gap([1.0, 9.5, 16.0, 19.0, 40.0], window) == 6.0
    assert longest_gap([9.5, 11.0, 13.0, 40.0], window) == 7.0
    assert longest_gap([], window) == 10.0


def test_who_waits_as_the_window_begins_counts_with_those_who_come_in_it() -> None:
    assert waits(ACCEPTED, Window(began=5.0, ended=6.0)) == [7.0]
    assert waits(ACCEPTED, Window(began=10.0, ended=11.0)) == []
    assert percentile_99([]) == 0.0
    assert percentile_99([1.0, 3.0]) == pytest.approx(2.98)
