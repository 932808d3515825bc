"""The gateway's tasks."""

from datetime import timedelta

import pytest
from django.utils import timezone

from gateway.status.models import Incident
from gateway.tasks import note_incidents_task
from tests.factories import make_checkout, make_transfer


@pytest.mark.django_db
def test_incidents_are_noted_with_the_present_time() -> None:
    queued_at = timezone.now() - timedelta(minutes=10)
    make_transfer(make_checkout(), queued_at=queued_at)
    assert note_incidents_task() >= 1
    assert Incident.objects.get(kind="credits").began_at == queued_at
