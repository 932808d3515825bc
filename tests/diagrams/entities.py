"""Entity diagrams: each app's tables with their keys, foreign keys and unique constraints, and what triggers keep."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain

from django.apps import AppConfig, apps
from django.conf import settings
from django.db.models import Field, Model, OneToOneField, UniqueConstraint

from tests.test_invariants import ROWS
from tests.tree import ROOT, relative

Table = type[Model]
_INTRO = (
    "Made by `script/diagrams` from Django's models: keys, foreign keys and unique constraints, and no other columns."
    " A table of another app is shown by its name alone. The last section lists what triggers keep."
)
_TRIGGERS_INTRO = (
    "The initial migration of each app loads its triggers from the file beside its models. Each guarantee has a test and a control"
    " in [tests/INVARIANTS.md](../../tests/INVARIANTS.md)."
)
_DECLARED = re.compile(r"^CREATE (?:CONSTRAINT )?TRIGGER (\w+)", re.MULTILINE)


def document() -> str:
    """Return docs/diagrams/tables.md."""
    own = [app for app in apps.get_app_configs() if _tables(app) and _is_own(app)]
    parts = [
        "# Tables",
        _INTRO,
        "## Between apps",
        "An arrow points from the app whose tables refer to the other's; the number counts foreign keys.",
        _overview(own),
    ]
    for app in sorted(own, key=lambda app: app.label):
        parts += [f"## {app.label}", _drawn(app)]
        parts += ["\n".join(lines)] if (lines := list(_constraints(app))) else []
    parts += ["## Triggers", _TRIGGERS_INTRO, "\n".join(_triggers())]
    return "\n\n".join(parts) + "\n"


def _is_own(app: AppConfig) -> bool:
    return (settings.BASE_DIR / app.name.partition(".")[0]).is_dir()


def _tables(app: AppConfig) -> list[Table]:
    return sorted(app.get_models(), key=lambda table: table.__name__)


def _overview(own: list[AppConfig]) -> str:
    labels = {app.label for app in own}
    counted = Counter(
        (app.label, _target(field)._meta.app_label)
        for app in own
        for table in _tables(app)
        for field in _foreign_keys(table)
    )
    arrows = [
        f"    {source} -->|{count}| {target}"
        for (source, target), count in sorted(counted.items())
        if source != target and target in labels
    ]
    alone = sorted(labels - {name for pair in counted for name in pair})
    nodes = [f"    {name}" for name in alone]
    return "\n".join(["```mermaid", "flowchart LR", *arrows, *nodes, "```"])


def _drawn(app: AppConfig) -> str:
    lines = ["```mermaid", "erDiagram"]
    for table in _tables(app):
        lines += [f"    {table.__name__} {{", *_columns(table), "    }"]
    for table in _tables(app):
        lines += sorted(_relations(table))
    return "\n".join([*lines, "```"])


def _columns(table: Table) -> Iterator[str]:
    for field in table._meta.concrete_fields:
        kinds = _kinds(field)
        if kinds:
            kind = field.get_internal_type()
            yield f"        {kind} {field.attname} {', '.join(kinds)}"


def _kinds(field: "Field[object, object]") -> list[str]:
    kinds = ["PK"] if field.primary_key else []
    kinds += ["FK"] if field.many_to_one or field.one_to_one else []
    return kinds + (["UK"] if field.unique and not field.primary_key else [])


def _foreign_keys(table: Table) -> Iterator["Field[object, object]"]:
    return (f for f in table._meta.concrete_fields if f.many_to_one or f.one_to_one)


def _target(field: "Field[object, object]") -> Table:
    """The table a foreign key refers to."""
    target = field.related_model
    assert isinstance(target, type)
    return target


def _relations(table: Table) -> Iterator[str]:
    for field in _foreign_keys(table):
        one = "|o" if field.null else "||"
        many = "o|" if isinstance(field, OneToOneField) else "o{"
        target = _target(field).__name__
        yield f"    {target} {one}--{many} {table.__name__} : {field.name}"


def _constraints(app: AppConfig) -> Iterator[str]:
    for table in _tables(app):
        for constraint in table._meta.constraints:
            if isinstance(constraint, UniqueConstraint):
                over = ", ".join(map(str, constraint.fields or constraint.expressions))
                where = " for some rows" if constraint.condition else ""
                yield f"- `{constraint.name}`: one {table.__name__} for each {over}{where}"


def _triggers() -> Iterator[str]:
    """Yield the lines of the table: where triggers are declared, and what they guarantee."""
    files = {
        name: relative(path)
        for path in chain(ROOT.glob("*/triggers.sql"), ROOT.glob("*/models/triggers.sql"))
        for name in _DECLARED.findall(path.read_text())
    }
    rows = []
    for row in ROWS:
        names = [name for kind, name in row.carriers if kind == "trigger"]
        for file in dict.fromkeys(files[name] for name in names):
            own = ", ".join(f"`{name}`" for name in names if files[name] == file)
            rows.append(f"| `{file}` | {own} | {row.sentence} |")
    yield from ("| declared in | triggers | what they guarantee |", "|---|---|---|", *sorted(rows))
