"""The Celery application. Tasks only start work sooner: all work is stored as rows in PostgreSQL.

`celery -A gateway worker` also runs the chain watchers and the webhook sender (`gateway.processes.loops`).
"""

import gc
import os

from celery import Celery
from celery.signals import worker_before_create_process

from gateway.processes.loops import ROLES_OPTION, Loops

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")

app = Celery("florin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["worker"].add(Loops)
app.user_options["worker"].add(ROLES_OPTION)


def share_imports(**_: object) -> None:
    """Share what the worker imported with the processes of its pool: counting garbage there would copy each page of it."""
    gc.collect()
    gc.freeze()


worker_before_create_process.connect(share_imports)
