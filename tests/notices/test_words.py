"""Each chat's service gets its own form, and nothing in a notice becomes a link, a mention or formatting there."""

import orjson
import pytest

from accounts.states import Mode
from gateway.core.api.errors import InvalidRequestError
from notices.chats import target_for
from notices.devices import device_name
from notices.facts import Fact
from notices.states import Kind, Service
from notices.words import message_body, push_body
from tests.notices.browsers import AGENT, Browser
from webhooks.endpoints.targets import Target
from webhooks.push import MOST_TEXT

HOSTILE = "<!channel> @everyone [free](https://evil.example) & *bold*"
URL = "https://pay.example/dashboard/"


def told(service: Service, target: Target) -> dict[str, object]:
    body = message_body("25.00 USD received", HOSTILE, URL, service=service, target=target)
    found: dict[str, object] = orjson.loads(body)
    return found


def test_slack_reads_text_as_text() -> None:
    text = told(Service.SLACK, Target("https://hooks.slack.com/x"))["text"]
    assert text == ("25.00 USD received\n&lt;!channel&gt; @everyone [free](https://evil.example) &amp; *bold*\n" + URL)


def test_discord_pings_nobody_and_formats_nothing() -> None:
    message = told(Service.DISCORD, Target("https://discord.com/api/webhooks/1/x"))
    assert message["allowed_mentions"] == {"parse": []}
    content = str(message["content"])
    assert "\\[free\\]\\(" in content
    assert "\\*bold\\*" in content
    assert content.endswith(URL)


def test_telegram_gets_plain_text_for_its_chat() -> None:
    target = target_for(Service.TELEGRAM, token="123456:AAE-x_9" + "a" * 30, chat_id="@orders")
    assert target.url == "https://api.telegram.org/bot123456:AAE-x_9" + "a" * 30 + "/sendMessage"
    message = told(Service.TELEGRAM, target)
    assert message["chat_id"] == "@orders"
    assert "parse_mode" not in message
    assert HOSTILE in str(message["text"])


@pytest.mark.parametrize("token", ["", "abc", "12:", "12:a/../b", "12:a?b", "12:a b", "x:abc", "１２:abc", "12:ä"])
def test_a_bots_token_is_no_part_of_another_address(token: str) -> None:
    with pytest.raises(InvalidRequestError):
        target_for(Service.TELEGRAM, token=token, chat_id="1")


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "https://localhost/", "ftp://chat.example/", "https://[::1]/", ""])
def test_a_chats_address_is_checked_as_a_webhooks(url: str, settings) -> None:  # type: ignore[no-untyped-def]
    settings.WEBHOOK_ALLOW_LOOPBACK = False
    with pytest.raises(InvalidRequestError):
        target_for(Service.SLACK, url=url)


def test_a_push_message_fits_whatever_it_says() -> None:
    browser = Browser()
    fact = Fact(Kind.PAYMENT, 1, Mode.LIVE, "x", title="\U0001f600" * 900, text="\U0001f600" * 900)
    body = push_body(fact, URL + "x" * 200, Target("https://x.example", browser.p256dh, browser.auth))
    assert len(body) < MOST_TEXT + 200


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (AGENT, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        ("", "A browser"),
        ("<script>" * 99, "A browser"),
    ],
)
def test_a_device_is_called_as_people_know_it(agent: str, name: str) -> None:
    assert device_name(agent) == name
