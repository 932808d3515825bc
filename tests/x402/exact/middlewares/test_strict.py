"""A refused settle as an error, for middlewares that serve after every answer with status 200."""

import json
import subprocess
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.states import Mode
from tests.contract.client import ApiClient, client_of
from tests.factories import USDC_ON_BASE
from tests.tree import ROOT
from tests.x402.exact.bodies import body_of
from tests.x402.exact.test_forms import told_to

STRICT = "handling=strict"


def settle(client: ApiClient, body: dict[str, Any], prefer: str) -> tuple[int, str | None]:
    answer = client.send("POST", "/x402/settle", body, HTTP_PREFER=prefer)
    return answer.status, None if answer.status == 200 else answer.code


@pytest.mark.django_db
@pytest.mark.parametrize("prefer", [STRICT, 'wait=10, Handling = "strict"', "handling=strict; a=1"])
def test_a_refused_settle_is_an_error_where_that_is_preferred(tester: ApiClient, prefer: str) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE)
    assert settle(tester, body, prefer) == (200, None)
    assert settle(tester, body, prefer) == (409, "state_conflict")
    assert settle(tester, body_of(told_to(tester), USDC_ON_BASE, network="eip155:56"), prefer) == (
        409,
        "state_conflict",
    )


@pytest.mark.django_db
@pytest.mark.parametrize("prefer", ["", "handling=lenient", "respond-async", "mishandling=strict", "handling=stricter"])
def test_elsewhere_a_refusal_is_what_the_standard_has(tester: ApiClient, prefer: str) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE)
    assert [settle(tester, body, prefer) for _ in range(2)] == [(200, None)] * 2


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("prefer", "second"), [({}, False), ({"Prefer": STRICT}, "thrown")])
def test_a_wrapper_that_looks_for_an_error_alone_finds_one(
    live_server: LiveServer, prefer: dict[str, str], second: object
) -> None:
    seller = client_of(mode=Mode.TEST)
    body = body_of(told_to(seller), USDC_ON_BASE, version=1)
    told = {
        "url": f"{live_server.url}/api/v1/x402",
        "headers": {"Authorization": f"Bearer {seller.key}"} | prefer,
        "payload": body["paymentPayload"],
        "requirements": body["paymentRequirements"],
    }
    found = subprocess.run(
        ["node", str(ROOT / "tests/x402/exact/middlewares/settle_twice.mjs")],
        input=json.dumps(told),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert json.loads(found.stdout) == [True, second]
