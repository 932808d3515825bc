"""Starts Celery tasks from processes that must not wait for the broker."""

import redis
from celery import current_app
from kombu.exceptions import OperationalError

from gateway.core import valkey


def wake_task(name: str) -> bool:
    """Send the task; return False if the broker does not accept it. Never raises, and never waits for long."""

    def send(client: redis.Redis) -> bool:
        # Celery would wait seconds for a broker that is down. This waits for one time-out at most, once a second.
        client.ping()
        try:
            current_app.send_task(name, retry=False, ignore_result=True)
        except OperationalError as error:
            raise ConnectionError from error
        return True

    return bool(valkey.attempt(send))
