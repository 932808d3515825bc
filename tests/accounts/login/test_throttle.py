"""How much one address may send to the pages of people."""

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts.login.throttle import PER_ADDRESS

pytestmark = pytest.mark.django_db


def test_what_is_posted_is_bounded_and_looking_is_not() -> None:
    client = Client()
    # They are counted by the minute.
    with time_machine.travel(timezone.now().replace(second=0), tick=False):
        for _ in range(PER_ADDRESS.most):
            assert client.post("/account/none/").status_code != 429
        assert client.post("/account/none/").status_code == 429
    assert client.get("/account/login/").status_code == 200
