"""What is killed, in which order, and how the table names it."""

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tests.deploy.failover.cluster import Cluster
from tests.deploy.failover.judging import Row, Window, doubled, longest_gap, lost, percentile_99, waits
from tests.deploy.failover.load import Load
from tests.waiting import comes_true, wait_until

# Under load and in order, before the first trouble and after each.
_CALM_SECONDS: Final = 10.0
_BRIEF_SECONDS: Final = 3.0
_ORDER_SECONDS: Final = 120.0
_LAST_SECONDS: Final = 300.0
Undo = Callable[[], None]


@dataclass(frozen=True)
class Trouble:
    """Something to kill. `act` does it and returns what brings it back; others go on alone for `seconds` before that."""

    title: str
    act: Callable[[Cluster], Undo]
    seconds: float = 15.0


def _kill(machine: str, program: str, *, others: str = "") -> Callable[[Cluster], Undo]:
    def act(cluster: Cluster) -> Undo:
        cluster.machines[machine].kill(program, others=others)
        return lambda: cluster.start(machine, program)

    return act


def _kill_worker(cluster: Cluster) -> Undo:
    return _kill(cluster.watching(), "worker")(cluster)


def _kill_database(role: str) -> Callable[[Cluster], Undo]:
    return lambda cluster: _kill(cluster.the(role), "patroni", others="postgres")(cluster)


def _kill_machine(cluster: Cluster, name: str) -> Undo:
    machine = cluster.machines[name]
    machine.unplug()
    machine.kill_all()

    def undo() -> None:
        machine.plug_in()
        cluster.start_all(name)

    return undo


TROUBLES: Final[Mapping[str, Trouble]] = {
    "web": Trouble("a web process", _kill("web1", "web")),
    "worker": Trouble("the worker that reads the chain", _kill_worker, 25),
    "pgbouncer": Trouble("a PgBouncer", _kill("web1", "pgbouncer"), 25),
    "valkey": Trouble("Valkey", _kill("aside", "valkey")),
    "proxy": Trouble("the proxy, started again at once", _kill("front", "haproxy"), 0),
    "standby": Trouble("the synchronous standby, with its Patroni", _kill_database("sync_standby")),
    "primary": Trouble("the primary, with its Patroni", _kill_database("leader"), 35),
    "web-machine": Trouble(
        "the web machine that reads the chain, silently", lambda cluster: _kill_machine(cluster, cluster.watching()), 30
    ),
    "standby-machine": Trouble(
        "the standby's machine, silently", lambda cluster: _kill_machine(cluster, cluster.the("sync_standby")), 25
    ),
    "database-machine": Trouble(
        "the primary's machine, silently", lambda cluster: _kill_machine(cluster, cluster.the("leader")), 40
    ),
}


@dataclass(frozen=True)
class Line:
    """What one trouble did. Times are seconds without progress; `wait` is how long shops waited for their checkouts."""

    title: str
    creation: float
    wait_99: float
    wait_most: float
    crediting: float
    webhooks: float
    accepted: int
    lost: int
    doubled: int


@dataclass(frozen=True)
class Report:
    """What a run showed. Every list names what must not be."""

    lines: Sequence[Line]
    accepted: int
    paid: int
    tries: int
    unsettled: Sequence[str]
    lost: Sequence[str]
    doubled: Sequence[str]
    refused: Sequence[str]
    uncredited: Sequence[str]
    credited_twice: Sequence[str]
    untold: Sequence[str]

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost, doubled or refused."""
        wrong = (self.unsettled, self.lost, self.doubled, self.refused)
        return not any((*wrong, self.uncredited, self.credited_twice, self.untold))

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        return asdict(self)

    def as_text(self) -> str:
        """Return it as a table, and a sentence for each thing that is wrong."""
        head = "| killed | creation stood | waited, 99 % | waited, most | crediting stood | webhooks stood | accepted | lost | doubled |"
        rule = "|---|" + "--:|" * 8
        rows = [
            f"| {one.title} | {one.creation:.1f} s | {one.wait_99:.1f} s | {one.wait_most:.1f} s"
            f" | {one.crediting:.1f} s | {one.webhooks:.1f} s"
            f" | {one.accepted} | {one.lost} | {one.doubled} |"
            for one in self.lines
        ]
        total = f"{self.accepted} checkouts accepted in {self.tries} requests, {self.paid} paid."
        wrong = {name: found for name, found in asdict(self).items() if isinstance(found, list) and name != "lines"}
        told = [f"{name}: {len(found)} {found[:5]}" for name, found in wrong.items() if found]
        return "\n".join(["", head, rule, *rows, "", total, *told])


def run(home: Path, names: Sequence[str], *, rate: float, brief: bool) -> Report:
    """Run troubles on a new cluster, under load; return what they did. A brief run ends once creation goes on."""
    say("Starting the machines.")
    with Cluster(home) as cluster:
        load = Load(cluster.url, cluster.keys, cluster.node, rate)
        load.start()
        windows: list[tuple[str, Window]] = []
        unsettled: list[str] = []
        try:
            wait_until(lambda: cluster.receiver.got)
            calm = _BRIEF_SECONDS if brief else _CALM_SECONDS
            time.sleep(calm)
            windows.append(("nothing", Window(time.time() - calm, time.time())))
            for name in names:
                trouble, began = TROUBLES[name], time.time()
                say(f"Killing {trouble.title}.")
                undo = trouble.act(cluster)
                settled = _goes_on(load) if brief else _settles(cluster, trouble, undo)
                windows.append((trouble.title, Window(began, time.time())))
                if not settled:
                    unsettled.append(trouble.title)
                    show_logs(home)
                    break
        finally:
            load.finish()
        return _judge(cluster, load, windows, unsettled)


def _settles(cluster: Cluster, trouble: Trouble, undo: Undo) -> bool:
    """Bring back what was killed after its time; return whether all is in order again, after some more."""
    time.sleep(trouble.seconds)
    undo()
    settled = comes_true(cluster.is_in_order, seconds=_ORDER_SECONDS)
    time.sleep(_CALM_SECONDS)
    return settled


def _goes_on(load: Load) -> bool:
    """Leave what was killed dead; return whether a checkout is accepted that was wanted later."""
    dead = time.time()
    return comes_true(lambda: load.accepted_since(dead), seconds=_ORDER_SECONDS)


def _judge(cluster: Cluster, load: Load, windows: Iterable[tuple[str, Window]], unsettled: Sequence[str]) -> Report:
    say("Waiting for the last webhooks.")
    cluster.node.mine(5)
    comes_true(lambda: set(load.paid) <= heard(cluster).keys(), seconds=_LAST_SECONDS)
    # What it was connected to may be gone.
    cluster.database.close()
    rows: list[Row] = cluster.database.rows("SELECT order_ref, public_id FROM checkouts_checkout")
    credited = cluster.database.rows(
        "SELECT c.public_id, extract(epoch FROM p.credited_at)::float8"
        " FROM checkouts_payment p JOIN checkouts_checkout c ON c.id = p.checkout_id"
    )
    told = heard(cluster)
    found_lost, found_double = lost(load.orders, rows), doubled(rows)
    lines = []
    for title, window in windows:
        waited = waits(load.orders, window)
        lines.append(
            Line(
                title=title,
                creation=longest_gap((one.accepted for one in load.orders), window),
                wait_99=percentile_99(waited),
                wait_most=max(waited, default=0.0),
                crediting=longest_gap((at for _, at in credited), window),
                webhooks=longest_gap(told.values(), window),
                accepted=len(waited),
                lost=_of_window(load, window, found_lost),
                doubled=_of_window(load, window, found_double),
            )
        )
    counted = Counter(public_id for public_id, _ in credited)
    return Report(
        lines=lines,
        accepted=load.accepted,
        paid=len(load.paid),
        tries=sum(order.tries for order in load.orders),
        unsettled=unsettled,
        lost=found_lost,
        doubled=found_double,
        refused=load.refusals,
        uncredited=[one for one in load.paid if not counted[one]],
        credited_twice=[one for one, number in counted.items() if number > 1],
        untold=[one for one in load.paid if one not in told],
    )


def _of_window(load: Load, window: Window, refs: Sequence[str]) -> int:
    inside = {one.ref for one in load.orders if window.began < one.accepted < window.ended}
    return len(inside & set(refs))


def heard(cluster: Cluster) -> dict[str, float]:
    """Return when the webhook of each completed checkout arrived first, by public id."""
    ahead = time.time() - time.monotonic()
    times: dict[str, float] = {}
    for got in list(cluster.receiver.got):
        event = json.loads(got.body)
        if event["type"] == "checkout.completed":
            times.setdefault(event["checkout_id"], got.at + ahead)
    return times


def show_logs(home: Path) -> None:
    """Show the end of each log: its folder is removed."""
    for log in sorted(home.glob("*.log")):
        sys.stderr.write(f"== {log.name}\n{log.read_text(errors='replace')[-1_500:]}\n")


def say(text: str) -> None:
    """Tell the person at the terminal."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")
