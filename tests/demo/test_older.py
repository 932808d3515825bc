"""A demo on the data of another release of Florin."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from cryptography.fernet import Fernet

from gateway.core.embedded import Engines, EngineUrls
from tests.demo.running import var_folder
from tests.tree import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]
KEY = Fernet.generate_key().decode()


@pytest.fixture
def var() -> Iterator[Path]:
    with var_folder() as folder:
        yield folder


@pytest.fixture
def engines(var: Path) -> Iterator[EngineUrls]:
    """Engines of its own: what Valkey holds is forgotten."""
    with Engines(var / "engines") as urls:
        yield urls


def seed(engines: EngineUrls, var: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """What the demo does first with its database."""
    arguments = [str(var / "demo.json"), "http://127.0.0.1:9/webhook", *options]
    return subprocess.run(
        [sys.executable, "manage.py", "seed_demo", *arguments],
        cwd=ROOT,
        env=os.environ
        | {
            "DATABASE_URL": engines.database_url,
            "REDIS_URL": engines.redis_url,
            "FLORIN_VAR": str(var),
            "ENCRYPTION_KEYS": KEY,
            "WEBHOOK_ALLOW_LOOPBACK": "true",
        },
        capture_output=True,
        text=True,
        check=False,
    )


def told(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def migrations_in(engines: EngineUrls, database: str = "florin") -> set[str]:
    with psycopg.connect(engines.database_url, dbname=database) as connection:
        return {app for (app,) in connection.execute("SELECT app FROM django_migrations")}


def test_it_is_set_aside_and_the_demo_begins_anew(engines: EngineUrls, var: Path) -> None:
    assert told(seed(engines, var))["kept_as"] == ""
    with psycopg.connect(engines.database_url) as connection:
        connection.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('facilitator', '0001_tables', now())"
        )
    valkey = redis.Redis.from_url(engines.redis_url)
    valkey.set("left", "of that release")
    refused = seed(engines, var)
    assert refused.returncode
    assert "of another release of Florin: name an empty one" in refused.stderr
    kept_as = told(seed(engines, var, "--own-engines"))["kept_as"]
    assert "facilitator" in migrations_in(engines, kept_as)
    assert "facilitator" not in migrations_in(engines)
    assert not valkey.exists("left")
    assert told(seed(engines, var, "--own-engines"))["kept_as"] == ""
