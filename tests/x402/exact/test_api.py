"""A body is of one protocol and of a version that there is."""

from typing import Any

import pytest

from tests.contract.client import ApiClient
from tests.factories import USDC_ON_BASE
from tests.x402.exact.bodies import body_of
from tests.x402.exact.calls import settle, verify
from tests.x402.exact.test_forms import told_to

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("version", [0, 3, "2", True, None, 2.0])
def test_other_versions_are_told_so(tester: ApiClient, version: Any) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE) | {"x402Version": version}
    assert verify(tester, body)["invalidReason"] == "invalid_x402_version"
    assert settle(tester, body)["errorReason"] == "invalid_x402_version"


@pytest.mark.parametrize("path", ["/x402/verify", "/x402/settle"])
def test_both_protocols_at_once_are_refused(tester: ApiClient, path: str) -> None:
    body = body_of(told_to(tester), USDC_ON_BASE) | {"payment": {}}
    answer = tester.send("POST", path, body)
    assert (answer.status, answer.error["param"]) == (400, "x402Version")


def test_neither_protocol_is_no_verification(tester: ApiClient) -> None:
    assert tester.send("POST", "/x402/verify", {}).status == 400
