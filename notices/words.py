"""Bodies of notes: what a browser decrypts, and the JSON of each chat's service."""

import re
from typing import Final

from django.utils.translation import gettext, pgettext

from accounts.states import Mode
from gateway.core import json
from notices.facts import Fact
from notices.models import Chat
from notices.states import Service
from webhooks.endpoints.targets import Target
from webhooks.push import MOST_TEXT, BrowserKeys, encrypt

# Discord's limit of `content` is 2,000 letters; the others take more.
_MOST_LETTERS: Final = 1_500
_SHORT: Final = 300
# What Discord reads as formatting, a mention or a link (https://docs.discord.com, Markdown Text 101).
_MARKDOWN: Final = re.compile(r"([\\*_~`|>#\[\]()<@:-])")


def push_body(fact: Fact, url: str, target: Target, *, mute: str = "") -> bytes:
    """Return the encrypted message that our service worker shows. `mute` is the path that stops notices of its kind."""
    message: dict[str, object] = {
        "title": f"{_mode(fact.mode)}{fact.title}"[:_SHORT],
        "text": str(fact.text)[:_SHORT],
        "url": url,
        # A second notice of the same fact replaces the first.
        "tag": fact.key,
    }
    if mute:
        kind = fact.kind.label.lower()
        done = gettext("No more notices of this kind on your devices: {kind}.").format(kind=kind)
        message["mute"] = {
            "path": mute,
            "label": gettext("Mute this kind"),
            "done": done,
            "failed": gettext("It could not be muted. Try again."),
        }
    text = json.dumps(message)
    if len(text) > MOST_TEXT:
        text = json.dumps(message | {"text": ""})
    return encrypt(text, BrowserKeys.read(target.p256dh, target.auth))


def chat_body(fact: Fact, url: str, chat: Chat, target: Target, *, mute: str) -> bytes:
    """Return the JSON that a chat's service takes. Nothing in it pings anybody or looks like a link but our own.

    `mute` is the address of the page that stops the kind in that chat.
    """
    foot = f"{url}\nMute {fact.kind.label.lower()} in this chat: {mute}"
    return message_body(
        f"{_mode(fact.mode)}{fact.title}", str(fact.text), foot, service=Service(chat.service), target=target
    )


def message_body(title: str, text: str, foot: str, *, service: Service, target: Target) -> bytes:
    """Return a message as a service takes it. `foot` is ours, with our addresses, and is sent as it is."""
    title, text = title[:_SHORT], text[:_MOST_LETTERS]
    if service == Service.SLACK:
        # https://docs.slack.dev/messaging/formatting-message-text: these three letters begin all that is not text.
        words = f"{title}\n{text}".replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return json.dumps({"text": f"{words}\n{foot}"})
    if service == Service.DISCORD:
        words = _MARKDOWN.sub(r"\\\1", f"{title}\n{text}")[:_MOST_LETTERS]
        return json.dumps({"content": f"{words}\n{foot}", "allowed_mentions": {"parse": []}})
    # Without `parse_mode` the text is plain.
    return json.dumps(
        dict(target.fields) | {"text": f"{title}\n{text}\n{foot}", "link_preview_options": {"is_disabled": True}}
    )


def _mode(mode: Mode) -> str:
    return pgettext("team", "[test mode] ") if mode == Mode.TEST else ""
