"""Engines as tests look at them."""

import subprocess
import sys
from pathlib import Path

import psycopg
import redis

from gateway.core.embedded import EngineUrls, running_urls
from tests.tree import ROOT
from tests.waiting import wait_until


def rows(urls: EngineUrls, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(urls.database_url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def valkey(urls: EngineUrls) -> redis.Redis:
    return redis.Redis.from_url(urls.redis_url)


def answers(urls: EngineUrls) -> bool:
    try:
        with valkey(urls) as client:
            return rows(urls, "SELECT 1") == [(1,)] and bool(client.ping())
    except (psycopg.OperationalError, redis.ConnectionError):
        return False


def start_apart(home: Path, *options: str) -> subprocess.Popen[bytes]:
    """A supervisor in a process of its own, with its engines answering."""
    argv = [sys.executable, "-m", "gateway.core.embedded", str(home), *options]
    process = subprocess.Popen(argv, cwd=ROOT)
    wait_until(lambda: running_urls(home) is not None)
    return process


def postmaster(home: Path) -> int:
    return int((home / "postgres" / "postmaster.pid").read_text().split()[0])
