"""The control most teams would write for webhooks: a Celery task per delivery that reads the row, POSTs, writes the row."""

import hashlib
import hmac
import os
from functools import cache

import urllib3
from celery import Celery
from psycopg_pool import ConnectionPool

from gateway.core.embedded import celery_url

app = Celery("control", broker=celery_url(os.environ["REDIS_URL"]))
app.conf.update(
    task_ignore_result=True, task_acks_late=True, worker_prefetch_multiplier=4, task_default_queue="control-start"
)
_http = urllib3.PoolManager(maxsize=16)


@cache
def _pool() -> ConnectionPool:
    return ConnectionPool(os.environ["DATABASE_URL"], min_size=16, max_size=16, open=True)


@app.task(name="control.deliver")  # type: ignore[untyped-decorator]
def deliver(delivery: int) -> None:
    """Deliver one."""
    with _pool().connection() as connection:
        row = connection.execute(
            "SELECT p.url, e.body FROM webhooks_delivery d JOIN webhooks_event e ON e.id = d.event_id"
            " JOIN webhooks_endpoint p ON p.id = d.endpoint_id WHERE d.id = %s",
            [delivery],
        ).fetchone()
    if row is None:
        return
    url, body = row
    signature = hmac.new(b"whsec_control", body, hashlib.sha256).hexdigest()
    answer = _http.request("POST", url, body=bytes(body), headers={"X-Service-Signature": signature}, timeout=30)
    with _pool().connection() as connection:
        connection.execute(
            "UPDATE webhooks_delivery SET status = 'delivered', tries = tries + 1, finished_at = now() WHERE id = %s AND %s = 200",
            [delivery, answer.status],
        )
