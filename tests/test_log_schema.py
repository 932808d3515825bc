"""The guide names the fields that log lines have, and no others."""

import ast
import json
import logging
import re

import pytest
import structlog

from gateway.core.logging import logging_config
from tests.tree import ROOT, modules

LEVELS = {"debug", "info", "warning", "error", "exception"}
# Arguments of structlog and of the standard library: no field is named after them.
ARGUMENTS = {"exc_info", "extra", "stack_info"}


def documented(heading: str) -> list[str]:
    guide = (ROOT / "docs" / "guide" / "operations.md").read_text()
    part = re.split(r"^#+ ", guide.partition(f"# {heading}\n")[2], flags=re.MULTILINE)[0]
    return re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)


def logged(source: str) -> set[str]:
    """The fields that a module's own log calls name."""
    if not re.search(r"\blog\b", source):
        return set()
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return {
        word.arg
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr in LEVELS
        if isinstance(call.func.value, ast.Name) and call.func.value.id == "log"
        for word in call.keywords
        if word.arg is not None and word.arg not in ARGUMENTS
    }


@pytest.mark.usefixtures("logging_restored")
def test_each_line_has_the_fields_of_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    logging_config(json_lines=True)
    with structlog.contextvars.bound_contextvars(request_id="req_1"):
        structlog.get_logger("tests").error("ours", exc_info=ValueError("not taken"))
        logging.getLogger("tests").error("theirs", exc_info=ValueError("not taken"))
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["event"] for line in lines] == ["ours", "theirs"]
    for line in lines:
        assert sorted(line) == sorted(documented("Log"))


def test_each_field_of_an_event_has_its_entry_and_each_entry_its_field() -> None:
    product = [path for path in modules() if path.parts[0] != "demo"]
    found = set().union(*(logged((ROOT / path).read_text()) for path in product))
    assert documented("Fields of events") == sorted(found)


def test_a_field_in_a_log_call_is_found() -> None:
    assert logged("log.error('x', planted=1, exc_info=e)") == {"planted"}
    assert logged("other.error('x', planted=1)") == set()


def test_log_calls_do_not_hide_fields_in_a_dictionary() -> None:
    # Chain and source, which other calls name too.
    hidden = re.compile(r"\blog\.\w+\([^)]*\*\*(?!self\._about\()")
    assert hidden.search('log.error("x", **told)')
    assert [path for path in modules() if hidden.search((ROOT / path).read_text())] == []
