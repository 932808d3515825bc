"""A process that settles payments: reads the merchant's id and the bodies from standard input, writes the answers."""

import json
import sys

import django

django.setup()

from django.utils import timezone  # noqa: E402

from accounts.states import Mode  # noqa: E402
from x402.exact.facilitator import settle_standard  # noqa: E402
from x402.payments.claims import Caller  # noqa: E402

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    caller = Caller(asked["merchant"], Mode.LIVE)
    answers = [settle_standard(caller, body, clock=timezone.now) for body in asked["bodies"]]
    json.dump(answers, sys.stdout)
