"""The Celery application. Tasks are bells and sweeps; whatever matters is a row in PostgreSQL."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")

app = Celery("florin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
