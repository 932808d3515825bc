"""How much one address may send to the pages of people."""

import pytest
from django.test import Client

from accounts.login.throttle import PER_ADDRESS

pytestmark = pytest.mark.django_db


def test_what_is_posted_is_bounded_and_looking_is_not() -> None:
    client = Client()
    for _ in range(PER_ADDRESS.most):
        assert client.post("/account/none/").status_code != 429
    assert client.post("/account/none/").status_code == 429
    assert client.get("/account/login/").status_code == 200
