"""Sets aside a database that another release migrated, and starts the demo with an empty one."""

from datetime import datetime

import psycopg
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from gateway.core.valkey import client


def is_of_another_release() -> bool:
    """Whether the database has applied migrations that this release lacks."""
    loader = MigrationLoader(connection)
    return not loader.applied_migrations.keys() <= loader.disk_migrations.keys()


def set_aside(*, now: datetime) -> str:
    """Rename the database, create an empty one in its place, and flush Valkey; return the new name of the old one."""
    parameters = connection.get_connection_params()
    name = str(parameters["dbname"])
    kept = f"{name}_{now:%Y%m%d_%H%M%S}"
    connection.close()
    server = {part: parameters[part] for part in ("host", "port", "user", "password") if parameters.get(part)}
    with psycopg.connect(**server, dbname="postgres", autocommit=True) as main:
        for statement in (
            sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(name), sql.Identifier(kept)),
            sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)),
        ):
            main.execute(statement)
    client().flushall()
    return kept
