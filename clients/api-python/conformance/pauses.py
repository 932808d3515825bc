"""Makes calls that get no answer, and prints how long the client would have paused before each repeat, in seconds. Argument: how many calls."""

import json
import sys
from types import SimpleNamespace

from florin import Florin, NoAnswerError, calls
from florin.transport import Reply, Request

paused: list[float] = []
vars(calls)["time"] = SimpleNamespace(sleep=paused.append)


class Silent:
    """Gives no answer."""

    def send(self, request: Request) -> Reply:
        """Raise NoAnswerError."""
        raise NoAnswerError(request.method)


florin = Florin("http://127.0.0.1:1", "sk_test_conformance", sender=Silent())
found = []
for _ in range(int(sys.argv[1])):
    paused.clear()
    try:
        florin.key.get()
    except NoAnswerError:
        found.append(list(paused))
sys.stdout.write(json.dumps(found))
