"""`python -m demo.nodes.miner RPC_URL...`: mines blocks on local chains until transactions are final.

The nodes make a block for each transaction and none otherwise. Real chains go on, and so do these until the newest
transaction is final. Then they make a block a minute: an idle chain stays small, and its newest block never looks stale.
"""

import http.client
import json
import sys
import time
from typing import Any
from urllib.parse import urlsplit

BLOCK_SECONDS = 1.0
# More blocks than any chain's confirmations need.
DEPTH = 20
IDLE_SECONDS = 50.0


class Chain:
    """One node, and the height of the newest block seen that has a transaction."""

    def __init__(self, url: str) -> None:
        self.address = urlsplit(url).netloc
        self.seen = -1
        self.newest_used = -DEPTH
        # By the monotonic clock: when the newest block was first seen.
        self.grew_at = time.monotonic()

    def tick(self) -> None:
        """Look at the blocks made since the last tick; add one if it is wanted."""
        head = int(self._ask("eth_blockNumber"), 16)
        # A node that was reset starts again below.
        first = self.seen + 1 if self.seen <= head else 0
        for height in range(max(first, head - DEPTH), head + 1):
            block = self._ask("eth_getBlockByNumber", hex(height), False)
            if block["transactions"]:
                self.newest_used = height
        if head != self.seen:
            self.grew_at = time.monotonic()
        self.seen = head
        is_wanted = head < self.newest_used + DEPTH and self.newest_used <= head
        if is_wanted or time.monotonic() - self.grew_at >= IDLE_SECONDS:
            self._ask("evm_mine")

    def _ask(self, method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        connection = http.client.HTTPConnection(self.address, timeout=10)
        try:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/", json.dumps(body), headers)
            return json.loads(connection.getresponse().read())["result"]
        finally:
            connection.close()


def main() -> None:
    """Tick every chain once a second until a signal ends the process."""
    chains = [Chain(url) for url in sys.argv[1:]]
    while True:
        for chain in chains:
            try:
                chain.tick()
            except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
                # Its node is being started again.
                sys.stderr.write(f"{chain.address}: {error!r}\n")
        time.sleep(BLOCK_SECONDS)


if __name__ == "__main__":
    main()
