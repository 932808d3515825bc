"""A web process writes its notes by itself, in a thread that answers requests too."""

from pathlib import Path

import pytest

from accounts.models import ApiRequest
from accounts.states import Mode
from tests.contract.servers import running_servers
from tests.factories import make_key, make_merchant
from tests.waiting import wait_until

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_what_a_web_process_answered_is_in_the_log_soon(tmp_path: Path) -> None:
    key, secret = make_key(make_merchant(), Mode.TEST)
    with running_servers(1, tmp_path) as (server,):
        for path in ("/checkouts", "/links"):
            assert server.send("GET", path, b"", {"Authorization": f"Bearer {secret}"}).status == 200
            found = ApiRequest.objects.filter(key_id=key.public_id, path=f"/api/v1{path}", status=200)
            wait_until(found.exists)
