"""The code that shops copy from the desk, run as they would run it."""

import hmac
import subprocess
from typing import Any

import orjson
import pytest
from django.utils import timezone

from tests.guides import MALFORMED, is_installed
from webhooks.dashboard.endpoint import SNIPPETS
from webhooks.signatures import new_secret, sign


def signed(secrets: list[str]) -> tuple[str, bytes]:
    body, at = b'{"a": "\xc3\xa9"}', int(timezone.now().timestamp())
    headers = sign(body, message_id="evt_1", timestamp=at, secrets=secrets)
    return headers["X-Service-Signature"], body


def forged() -> tuple[str, bytes]:
    """A webhook that somebody signed who knows no secret."""
    body, at = b"{}", int(timezone.now().timestamp())
    signature = hmac.digest(b"", b"%d." % at + body, "sha256").hex()
    return f"t={at},v1={signature}", body


def test_the_python_snippet_takes_our_signature_and_no_other() -> None:
    room: dict[str, Any] = {}
    exec(SNIPPETS[0].code, room)
    old, new = new_secret(), new_secret()
    header, body = signed([new, old])
    assert room["is_genuine"](header, body, new)
    assert room["is_genuine"](header, body, old)
    assert not room["is_genuine"](header, body, new_secret())
    assert not room["is_genuine"](header, body + b" ", new)
    late = f"t=1,v1={hmac.digest(new.encode(), b'1.' + body, 'sha256').hex()}"
    assert not room["is_genuine"](late, body, new)
    for malformed in MALFORMED:
        assert not room["is_genuine"](malformed, body, new)
    assert not room["is_genuine"](*forged(), "")


def cases() -> list[list[str]]:
    """Headers, bodies and secrets, of which the first is genuine."""
    secret = new_secret()
    header, body = signed([secret])
    late = f"t=1,v1={hmac.digest(secret.encode(), b'1.' + body, 'sha256').hex()}"
    return [
        [header, body.decode(), secret],
        [header, body.decode(), new_secret()],
        [header, body.decode() + " ", secret],
        [late, body.decode(), secret],
        [forged()[0], forged()[1].decode(), ""],
        *([malformed, body.decode(), secret] for malformed in MALFORMED),
    ]


def test_the_node_snippet_takes_our_signature_and_no_other() -> None:
    asked = cases()
    code = SNIPPETS[1].code + (
        f"const cases = {orjson.dumps(asked).decode()};"
        "console.log(JSON.stringify(cases.map(([h, b, s]) => isGenuine(h, Buffer.from(b), s))));"
    )
    done = subprocess.run(["node", "-e", code], capture_output=True, check=True)
    assert orjson.loads(done.stdout) == [True, *[False] * (len(asked) - 1)]


def test_the_php_snippet_takes_our_signature_and_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    if not is_installed("php", capsys):
        return
    asked = cases()
    code = SNIPPETS[2].code + (
        "$cases = json_decode(file_get_contents('php://stdin'));"
        "echo json_encode(array_map(fn ($case) => is_genuine(...$case), $cases));"
    )
    done = subprocess.run(["php", "-r", code], input=orjson.dumps(asked), capture_output=True, check=True)
    assert orjson.loads(done.stdout) == [True, *[False] * (len(asked) - 1)]
