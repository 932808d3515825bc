"""The turns of accounts, if there are too many to compare all each time."""

from datetime import datetime

from wallets.models import ReceivingWallet


class Turns:
    """Turns of one chain's wallets: most places for those with expected payments, some for the others."""

    def __init__(self, chain: str) -> None:
        self._chain = chain
        self._round = 0
        # By wallet: the round of its last turn.
        self._served: dict[bytes, int] = {}

    def take(self, places: int, *, expected_since: datetime) -> list[bytes]:
        """Return the keys of up to `places` wallets, those with the oldest last turn first."""
        self._round += 1
        rows = ReceivingWallet.objects.filter(chain=self._chain)
        expected, quiet = set[bytes](), set[bytes]()
        for key, until in rows.values_list("key", "expected_until"):
            is_expected = until is not None and until >= expected_since
            (expected if is_expected else quiet).add(bytes(key))
        kept_free = min(len(quiet - expected), -(-places // 4))
        chosen = self._longest_ago(expected, places - kept_free)
        chosen += self._longest_ago(quiet - expected, places - len(chosen))
        self._served |= dict.fromkeys(chosen, self._round)
        return chosen

    def _longest_ago(self, keys: set[bytes], places: int) -> list[bytes]:
        in_turn = sorted(keys, key=lambda key: (self._served.get(key, 0), key))
        return in_turn[: max(places, 0)]
