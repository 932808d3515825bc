"""Rows that a test's own process reads by a model, in no order and not in part, come last written first.

So a test that relies on the order of writing fails. PostgreSQL promises no order, and mostly gives that one: a row that an
update wrote anew comes elsewhere only now and then. `script/test --all` reads so.
"""

from typing import Any

from django.db.models.expressions import OrderBy, RawSQL
from django.db.models.sql import Query
from django.db.models.sql.compiler import SQLCompiler
from django.db.models.sql.constants import MULTI

_execute_sql: Any = SQLCompiler.execute_sql


def execute_sql(compiler: SQLCompiler, result_type: str | None = MULTI, **options: Any) -> Any:
    """Read a query's rows as `SQLCompiler.execute_sql` does, backwards if it names no order."""
    if result_type == MULTI and _has_open_order(compiler.query):
        compiler.query = compiler.query.clone()
        place = RawSQL(f'"{compiler.query.get_initial_alias()}".ctid', ())
        compiler.query.add_ordering(OrderBy(place, descending=True))
    return _execute_sql(compiler, result_type, **options)


def _has_open_order(query: Query) -> bool:
    """Whether a query reads whole rows of a table in no order."""
    usual = query.default_ordering and query.get_meta().ordering
    is_ordered = query.order_by or query.extra_order_by or usual
    is_combined = query.distinct or query.combinator or query.group_by is not None
    is_part = is_ordered or is_combined or query.is_sliced
    return type(query) is Query and not is_part
