"""Beat's Celery application: the timetable and the broker.

Beat sends tasks by name. So it imports neither models nor tasks, and takes a third of a worker's memory.
"""

from celery import Celery

app = Celery("florin", fixups=())
app.config_from_object("gateway.settings", namespace="CELERY")
