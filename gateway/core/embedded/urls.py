"""Connection URLs of the engines."""

from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class EngineUrls:
    """Connection URLs. They contain passwords, so never log one.

    `database_url` is a libpq URI whose host is a socket folder (parse it with
    `psycopg.conninfo`); `redis_url` is in redis-py's form (`unix://`).
    """

    database_url: str = field(repr=False)
    redis_url: str = field(repr=False)


def celery_url(redis_url: str) -> str:
    """Return the URL of the same server in the form that kombu and Celery accept.

    redis-py writes a socket as `unix://:pw@/path?db=0`, kombu as `redis+socket://:pw@/path?virtual_host=0`; other URLs are
    returned unchanged.
    """
    if not redis_url.startswith("unix://"):
        return redis_url
    parts = urlsplit(redis_url)
    database = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.netloc}{parts.path}?virtual_host={database}"
