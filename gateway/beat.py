"""Beat's Celery application: the timetable and the broker.

Beat sends tasks by name. So it imports neither models nor tasks, and takes a third of a worker's memory.
"""

from celery import Celery

# Not current: a process that imports this beside `gateway.celery` goes on starting its tasks by the latter.
app = Celery("florin", fixups=(), set_as_current=False)
app.config_from_object("gateway.settings", namespace="CELERY")
