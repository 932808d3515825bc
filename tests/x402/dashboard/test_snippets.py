"""What the set-up page shows to type works as it stands."""

import json
from typing import Any

import pytest

from accounts.states import Mode
from tests.contract.client import client_of
from tests.dashboard.people import Desk
from tests.x402.recorded import make_seller

pytestmark = pytest.mark.django_db


def test_the_command_to_try_is_valid_with_a_test_key(owner: Desk, settings: Any) -> None:
    make_seller(owner.merchant, settings)
    call = owner.get("dashboard_x402").context["call"]
    body = json.loads(call.partition("-d '")[2].rstrip().removesuffix("'"))
    answer = client_of(owner.merchant, Mode.TEST).send("POST", "/x402/verify", body)
    assert answer.body["valid"], answer.body


def test_the_python_of_the_set_up_page_is_python(owner: Desk) -> None:
    shown = owner.get("dashboard_x402_setup").context["snippets"]
    assert [one.label for one in shown][-1] == "Python middleware"
    compile(shown[-1].code, "snippet", "exec")
