"""Browsers that subscribed, with the keys that only they have, what a foreign library reads of what they are sent, and chats."""

import json
import subprocess
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from accounts.audit.actors import Actor
from accounts.models import Merchant, User
from accounts.states import Mode
from notices.chats import add_chat, target_for
from notices.devices import add_device
from notices.models import Chat, Device
from notices.states import Kind, Service
from tests.factories import NOON
from tests.tree import ROOT
from tests.webhooks.receiver import Got
from webhooks.push import encode, server_key

SLACK = "https://hooks.slack.com/services/T000/B000/secretsecret"
PROGRAM = ROOT / "tests" / "notices" / "foreign" / "receive.mjs"
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@dataclass
class Browser:
    """A browser with a subscription at a push service's address."""

    url: str = "https://fcm.googleapis.com/wp/abc"
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: str = encode(b"sixteen bytes ok")

    @property
    def p256dh(self) -> str:
        """Its public key."""
        return encode(self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))

    @property
    def form(self) -> dict[str, str]:
        """What its page sends."""
        return {"endpoint": self.url, "p256dh": self.p256dh, "auth": self.auth, "made_for": server_key()}

    def added(self, user: User, merchant: Merchant, *, now: datetime = NOON) -> Device:
        """Add it as a device of a person."""
        return add_device(
            user,
            merchant,
            url=self.url,
            p256dh=self.p256dh,
            auth=self.auth,
            made_for=server_key(),
            user_agent=AGENT,
            now=now,
        )

    def reads(self, body: bytes, authorization: str, *, at: datetime) -> dict[str, Any]:
        """What a foreign library reads of a push message, after it checked who sent it."""
        parts = urlsplit(self.url)
        told = {
            "body": encode(body),
            "auth": self.auth,
            "privateKey": encode(self.key.private_numbers().private_value.to_bytes(32, "big")),
            "authorization": authorization,
            "audience": f"{parts.scheme}://{parts.netloc}",
            "at": at.timestamp(),
        }
        done = subprocess.run(
            ["node", str(PROGRAM)], input=json.dumps(told), cwd=ROOT, capture_output=True, text=True, check=True
        )
        read: dict[str, Any] = json.loads(done.stdout)
        return read | {"note": json.loads(read["text"])}

    def reads_request(self, got: Got, *, at: datetime) -> dict[str, Any]:
        """The same of a request that its push service got."""
        return self.reads(got.body, got.headers["Authorization"], at=at)


def make_chat(merchant: Merchant, person: User, url: str = SLACK, *, now: datetime = NOON) -> Chat:
    """A chat on Slack that a person added, told of live payments."""
    return add_chat(
        merchant,
        mode=Mode.LIVE,
        service=Service.SLACK,
        name="#orders",
        kinds=[Kind.PAYMENT],
        target=target_for(Service.SLACK, url=url),
        actor=Actor(person),
        now=now,
    )
