"""What is logged carries no secret, wherever in a line it hides."""

import logging

import pytest
import structlog

from gateway.core.logging import MOST_A_MINUTE, logging_config, redact

SECRETS = [
    "sk_live_4f9cQ2xLwZ",
    "sk_test_4f9cQ2xLwZ",
    "whsec_4f9cQ2xLwZ",
    "Bearer 4f9cQ2xLwZ",
    "postgresql://florin:4f9cQ2xLwZ@db.example/florin",
    "redis://:4f9cQ2xLwZ@cache.example:6379/0",
    "/r/4f9cQ2xLwZ4f9cQ2xLwZ",
    "/account/password/reset/key/a-4f9cQ2xLwZ/",
    "/account/invitation/4f9cQ2xLwZ:a-b_c/",
    "/p/01h2xz/s/sub_01h2xz:4f9cQ2xLwZ",
    "https://pay.example/notices/mute/12.live.inbox:4f9cQ2xLwZ",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_is_taken_out_and_the_words_around_it_stay(secret: str) -> None:
    told = redact(f"before {secret} after")
    assert "4f9cQ2xLwZ" not in told
    assert told.startswith("before ")
    assert told.endswith(" after")


@pytest.mark.parametrize(
    "harmless",
    ["chk_live_01h2xz", "https://shop.example:8443/a?b=c", "write to a@b.example", "/r/", "/s/x", "/c/01h2xz"],
)
def test_what_is_no_secret_stays(harmless: str) -> None:
    assert redact(harmless) == harmless


@pytest.mark.usefixtures("logging_restored")
@pytest.mark.parametrize("json_lines", [True, False])
@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_is_written_whatever_holds_it(
    secret: str, json_lines: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    logging_config(json_lines=json_lines)
    error = ValueError(f"not taken: {secret}")
    log = structlog.get_logger("tests")
    log.error("ours", exc_info=error, text=secret, error=error, many=[{"a": secret}])
    logging.getLogger("tests").error("theirs %s", [secret], exc_info=error)
    written = capsys.readouterr().err
    assert written.count("not taken") == 3
    assert "theirs" in written
    assert "4f9cQ2xLwZ" not in written


@pytest.mark.usefixtures("logging_restored")
@pytest.mark.parametrize("name", ["django.security.DisallowedHost", "gateway.server.sending"])
def test_what_any_client_can_cause_is_one_short_line_and_a_few_a_minute(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    logging_config(json_lines=True)
    error = ValueError("bad")
    for _ in range(3 * MOST_A_MINUTE):
        logging.getLogger(name).error("Invalid HTTP_HOST: %s", "x" * 9_000, exc_info=error)
    logging.getLogger("tests").error("ours", exc_info=error)
    *lines, ours = capsys.readouterr().err.splitlines()
    # A minute may end meanwhile.
    assert MOST_A_MINUTE <= len(lines) <= 2 * MOST_A_MINUTE
    assert all(len(line) < 500 and "exception" not in line for line in lines)
    assert "exception" in ours
