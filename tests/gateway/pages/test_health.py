"""Whether the service answers, and whether it is ready."""

import pytest

pytestmark = pytest.mark.django_db


def test_health_is_plain_and_readiness_asks_the_database(client):
    assert client.get("/healthz").content == b"ok"
    assert client.get("/readyz").json() == {"database": True, "valkey": True}
