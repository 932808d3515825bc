"""Which watcher is at work, and which one waits."""

from tests.florin import Florin


def is_standing_by(installation: Florin, watcher: str, *, since: str = "-infinity") -> bool:
    """Whether each of a watcher's threads asked for a lease since then, as its last question, and has none."""
    asked = installation.database.value(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND state = 'idle'"
        " AND query LIKE '%%wallets_chaincursor%%' AND query_start > %s",
        watcher,
        since,
    )
    owners = {installation.watcher_of(chain) for chain in installation.chains}
    return bool(asked == len(installation.chains) and watcher not in owners)


def has_taken_over(installation: Florin, watcher: str) -> bool:
    """Whether a watcher reads all chains."""
    return all(installation.watcher_of(chain) == watcher for chain in installation.chains)


def has_read_since(installation: Florin, moment: str) -> bool:
    """Whether a pass over each chain began since then and was written."""
    asked = "SELECT count(*) FROM wallets_chaincursor WHERE head_at > %s::timestamptz"
    return bool(installation.database.value(asked, moment) == len(installation.chains))
