"""A process that settles one payment: reads the merchant's id and the body from standard input, writes the answer."""

import json
import sys

import django

django.setup()

from django.utils import timezone  # noqa: E402

from accounts.states import Mode  # noqa: E402
from facilitator.services.using import Caller  # noqa: E402
from facilitator.standard.settling import settle_standard  # noqa: E402

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    caller = Caller(asked["merchant"], Mode.LIVE)
    answer = settle_standard(caller, asked["body"], clock=timezone.now)
    json.dump(answer, sys.stdout)
