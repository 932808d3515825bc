"""What a worker takes, by its roles. What its loops do is shown by `tests/faults/test_worker.py`."""

import click
import pytest
from celery import Celery
from celery.worker import WorkController

from gateway.processes.loops import ROLES, ROLES_OPTION, Loops


def worker(*roles: str) -> WorkController:
    """A worker of an application of its own, made and not started."""
    app = Celery("one", broker="memory://", set_as_current=False)
    app.steps["worker"].add(Loops)
    return WorkController(app=app, pool_cls="solo", roles=roles)


def runs_loops(made: WorkController) -> bool:
    return any(isinstance(step, Loops) for step in made.steps)


def parsed(text: str) -> object:
    """What the option makes of its text."""
    return ROLES_OPTION.process_value(click.Context(click.Command("worker")), text)


@pytest.mark.parametrize(
    ("roles", "queues", "loops"),
    [(("watch", "send"), [], True), (("tasks",), ["celery"], False), (ROLES, ["celery"], True)],
)
def test_a_worker_takes_tasks_and_runs_loops_where_its_roles_say_so(
    roles: tuple[str, ...], queues: list[str], loops: bool
) -> None:
    made = worker(*roles)
    assert [*made.app.amqp.queues.consume_from] == queues
    assert runs_loops(made) is loops


def test_roles_are_named_with_commas_between_them() -> None:
    assert parsed("watch, send") == ["watch", "send"]
    assert parsed(",".join(ROLES)) == [*ROLES]


@pytest.mark.parametrize("text", ["", "watch,", "watchers", "watch send"])
def test_a_role_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="choose among watch, send, tasks"):
        parsed(text)
