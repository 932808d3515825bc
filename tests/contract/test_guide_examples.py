"""Every curl of the guides runs as it is written, against a live server."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.states import Mode
from tests.contract.client import ApiClient, client_of
from tests.contract.payments import pay
from tests.tree import ROOT

pytestmark = [pytest.mark.django_db(transaction=True)]

BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = {
    f"{path.stem}-{number}": code
    for path in sorted((ROOT / "docs" / "guide").glob("*.md"))
    for number, code in enumerate(BLOCK.findall(path.read_text()))
    if '"$BASE_URL/api/v1' in code and path.stem != "quickstart"
}


def checkout_for(code: str, client: ApiClient) -> str:
    """A checkout that the example can be about: one that is paid where it releases escrow, else one that waits."""
    if "/release" not in code:
        return str(client.created()["id"])
    checkout_id = str(client.created(escrow=True)["id"])
    pay(checkout_id)
    return checkout_id


def test_the_guides_have_examples() -> None:
    assert len(EXAMPLES) >= 7


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_answers_without_an_error(
    live_server: LiveServer, tmp_path: Path, name: str
) -> None:
    # A test key plays all six chains.
    client = client_of(mode=Mode.TEST)
    assert client.key
    code = EXAMPLES[name]
    (tmp_path / ".curlrc").write_text("silent\nshow-error\nfail\n")
    ran = subprocess.run(
        ["sh", "-eu", "-c", code],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "BASE_URL": live_server.url,
            "CHECKOUT_ID": checkout_for(code, client),
            **dict.fromkeys(("LIVE_KEY", "TEST_KEY", "API_KEY"), client.key),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)
